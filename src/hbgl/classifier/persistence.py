"""What a fitted estimator is outside of its process: a folder, a repository, bytes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn.utils.validation import check_is_fitted

from hbgl.classifier.storage import (
    FILE,
    estimator_file,
    model_from_bytes,
    model_to_bytes,
    read_estimator,
)
from hbgl.errors import UsageError
from hbgl.hub import CARD, downloaded_model, upload_model
from hbgl.model_card import check_license
from hbgl.trained_model import TrainedModel

if TYPE_CHECKING:
    import torch

__all__ = ["Persistent"]

_Self = TypeVar("_Self", bound="Persistent")


class Persistent:
    """The part of :class:`~hbgl.classifier.HBGLClassifier` that saves and loads."""

    model_: TrainedModel
    _named: list[str] | None

    def save(self, path: str | Path, *, license: str | None = None) -> None:  # noqa: A002
        """Write the model folder: complete or not at all, without a line of code in it.

        The folder decides as the estimator does now, from ``hbgl predict`` too: its rule and
        thresholds become the model's own.

        :param license: for the model card, the hub's identifier such as ``apache-2.0``.
        """
        self._write(Path(path), license, None)

    @classmethod
    def load(
        cls: type[_Self], path: str | Path, *, device: str | torch.device | None = None
    ) -> _Self:
        """Read a model folder, of ``save`` or of ``hbgl train``, after checking every file.

        :param device: default: a GPU where there is one, else the CPU.
        :raises ModelFolderError: naming the file that is damaged, missing or foreign.
        """
        model = TrainedModel.load(path, device=device)
        loaded: Any = cls
        parameters, columns = read_estimator(Path(path), model, loaded._get_param_names())
        estimator = loaded(**{"taxonomy": model.taxonomy, **parameters})
        estimator._take(model, columns)
        found: _Self = estimator
        return found

    def push_to_hub(
        self,
        repo_id: str,
        *,
        license: str | None = None,  # noqa: A002
        private: bool | None = None,
        revision: str | None = None,
        message: str | None = None,
        token: str | None = None,
    ) -> str:
        """Upload the model folder to the Hugging Face hub; returns the commit's address.

        :param repo_id: ``owner/name``, made if it does not exist.
        :param license: for the model card, the hub's identifier such as ``apache-2.0``.
        :param private: of a new repository.
        :param revision: a branch; None: main.
        :raises HBGLError: if the hub cannot be reached or refuses.
        """
        with tempfile.TemporaryDirectory(prefix="hbgl-") as place:
            folder = Path(place) / "model"
            self._write(folder, license, repo_id)
            return upload_model(
                folder, repo_id, private=private, revision=revision, message=message, token=token
            )

    @classmethod
    def from_pretrained(
        cls: type[_Self],
        repo_or_path: str | Path,
        *,
        revision: str | None = None,
        token: str | None = None,
        device: str | torch.device | None = None,
    ) -> _Self:
        """Load a folder if there is one of that name, else the repository of the hub.

        :param revision: of the repository: a branch, tag or commit.
        :raises HBGLError: if there is neither, or it is damaged.
        """
        name = str(repo_or_path)
        is_path = isinstance(repo_or_path, Path) or name.startswith((".", "~", "/"))
        if is_path or Path(name).is_dir():
            if revision is not None:
                raise UsageError(f"{name} is a folder and has no revision {revision!r}")
            return cls.load(Path(name).expanduser(), device=device)
        with downloaded_model(name, revision=revision, token=token) as folder:
            return cls.load(folder, device=device)

    def _write(self, folder: Path, license: str | None, repo_id: str | None) -> None:  # noqa: A002
        check_is_fitted(self, "model_")
        check_license(license)
        this: Any = self
        model = self.model_.decided_by(this._decision())
        card = model.card(license=license, repo_id=repo_id)
        description = estimator_file(this.get_params(deep=False), self._named)
        model.save(folder, more={FILE: description, CARD: card.encode()})

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: the model goes as the bytes of its folder, checked on arrival.

        Parallel searches copy estimators like that; to keep a model, use ``save``.
        """
        above: Any = super()
        state = dict(above.__getstate__())
        if "model_" in state:
            state["model_"] = model_to_bytes(state["model_"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "model_" in state:
            state = {**state, "model_": model_from_bytes(state["model_"])}
        above: Any = super()
        above.__setstate__(state)
