"""Speed and memory, measured side by side: ``hbgl bench train|predict|taxonomy|startup``.

Reading order: ``contender.py`` (what is compared), ``rounds.py`` (interleaved rounds, medians,
ratios), ``flops.py`` and ``matmul.py`` (how much of the machine is used), ``spec.py``,
``synthetic.py``, ``untrained.py`` and ``workload.py`` (texts, taxonomy, models); the contenders:
``predicting.py``, ``training.py`` and ``engine_prediction.py`` (ours), ``hugging_face.py`` and
``straightforward.py`` (what people would use instead), ``registry.py`` (all by name); ``tasks.py``,
``worker.py`` and ``processes.py`` (each in a process of its own); the commands: ``speed.py``,
``growth.py`` and ``startup.py``, their tables in ``report.py``. ``machine.py``: where a figure
comes from.
"""
