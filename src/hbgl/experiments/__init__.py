"""Experiments: methods x corpora x seeds, and the yardsticks to hold them against.

What is to be run: ``plan.py``, ``fields.py``, ``plan_reader.py``, ``experiment_file.py``,
``paper_tables.py`` with ``published.py``. Running it: ``running.py``, ``worker.py``,
``processes.py``, ``execution.py``, ``yardstick.py``, ``answers.py``, ``identity.py``,
``run_folder.py``, ``run_record.py``. What came out: ``summary.py``, ``curves.py``,
``significance.py``. Showing it: ``results.py``, ``tables.py``, ``page.py``, ``page_charts.py``. The
table of the corpora: ``corpus_table.py``.
"""
