"""A data set's repository on the Hugging Face Hub, read and written with huggingface_hub: what publishing talks to.

Form: huggingface.co/docs/hub/api and huggingface_hub 2.4. Nothing here waits or tries again: a publication that was cut
is finished by the same command, and what the Hub has already is not sent twice.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import httpx2

from pipeline.release.folder import MANIFEST
from pipeline.release.publication import Blob, There, Tree, name_of
from pipeline.sources.trouble import FetchError

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub._commit_api import CommitOperation

LIMIT = 2 << 30
"""Bytes that a release may have to be read back."""
_SECONDS = 60.0
_NAMES_RELEASE = "croissant.json"


class HubError(FetchError):
    """The Hub could not be reached, or said no. The message names the repository, what was asked, and the answer."""


class _Once(httpx2.Client):
    """A client without patience: what huggingface_hub would wait for and try again ends the try."""

    def send(self, request: httpx2.Request, **kwargs: Any) -> httpx2.Response:
        where = f"{request.method} {request.url.host}{request.url.path}"
        try:
            response = super().send(request, **kwargs)
        except httpx2.TransportError as error:
            raise HubError(f"{where}: {type(error).__name__}; the same command goes on from here") from None
        if response.status_code == 429 or response.status_code >= 500:
            response.close()
            later = response.headers.get("Retry-After")
            wait = f" (asks to wait {later} s)" if later else ""
            raise HubError(f"{where}: status {response.status_code}{wait}; the same command goes on from here")
        return response


@cache
def _prepare() -> None:
    """Make huggingface_hub's one HTTP client a process ours, once: making one takes its time."""
    from huggingface_hub import constants, set_client_factory
    from huggingface_hub.utils.tqdm import disable_progress_bars

    # Bytes go by one way, the one that the tests prove: Git LFS's, not that of the compiled Xet client.
    constants.HF_HUB_DISABLE_XET = True
    set_client_factory(lambda: _Once(follow_redirects=True, timeout=_SECONDS))
    disable_progress_bars()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)


class Hub:
    """One data set's repository. `token` may be None: then it is read as a stranger reads it, and not written.

    `endpoint` is the Hub's address, by default that of huggingface_hub (HF_ENDPOINT).
    """

    def __init__(self, repo: str, token: str | None = None, endpoint: str | None = None) -> None:
        from huggingface_hub import HfApi

        _prepare()
        self.repo = repo
        self._api: HfApi = HfApi(endpoint=endpoint, token=token or False, library_name="reclaim")
        self._where: dict[str, Any] = {"repo_id": repo, "repo_type": "dataset"}

    def there(self, tag: str) -> There | None:
        """What the repository holds now, `tag` looked into; None where there is none that this token may see."""
        from huggingface_hub.errors import RepositoryNotFoundError

        with self._told("what it holds"):
            try:
                refs = self._api.list_repo_refs(**self._where)
            except RepositoryNotFoundError:
                return None
        tags = {ref.name: ref.target_commit for ref in refs.tags}
        head = next((ref.target_commit for ref in refs.branches if ref.name == "main"), None)
        main = None if head is None else self.tree(head)
        tagged = self.tree(tags[tag]) if tag in tags else None
        named = main is not None and MANIFEST in main.files and _NAMES_RELEASE in main.files
        name = name_of(self.read(main, _NAMES_RELEASE)) if main is not None and named else ""
        return There(main=main, tags=tags, release=name, tagged=tagged)

    def tree(self, revision: str) -> Tree:
        """Every file of a commit or a tag."""
        from huggingface_hub.hf_api import RepoFile

        with self._told(f"the files at {revision}"):
            listed = list(self._api.list_repo_tree(**self._where, recursive=True, revision=revision))
        files = [entry for entry in listed if isinstance(entry, RepoFile)]
        held = {f.path: Blob(size=f.size, oid=f.blob_id, sha256=f.lfs.sha256 if f.lfs else None) for f in files}
        return Tree(commit=revision, files=held)

    def read(self, tree: Tree, path: str) -> bytes:
        """The bytes of a file; HubError where they are not those that the tree lists."""
        from huggingface_hub import hf_hub_url
        from huggingface_hub.utils._http import get_session, hf_raise_for_status

        listed = tree.files[path]
        if listed.size > LIMIT:
            raise HubError(f"{self.repo}: {path} says it has {listed.size} bytes, more than {LIMIT}")
        url = hf_hub_url(self.repo, path, repo_type="dataset", revision=tree.commit, endpoint=self._api.endpoint)
        data, headers = bytearray(), self._api._build_hf_headers()
        with self._told(f"reading {path}"), get_session().stream("GET", url, headers=headers) as response:
            hf_raise_for_status(response)
            for chunk in response.iter_bytes():
                data += chunk
                if len(data) > listed.size:
                    break
        if not listed.holds(bytes(data)):
            raise HubError(f"{self.repo}: {path} at {tree.commit} came with other bytes than the Hub lists; try again")
        return bytes(data)

    def read_all(self, tree: Tree) -> dict[str, bytes]:
        """Every file of the release that a commit holds."""
        total = sum(tree.files[path].size for path in tree.release_files)
        if total > LIMIT:
            raise HubError(f"{self.repo}: {tree.commit} says it has {total} bytes, more than {LIMIT}")
        return {path: self.read(tree, path) for path in sorted(tree.release_files)}

    def create(self) -> None:
        """Make the repository, public. Making one that is there is no error."""
        with self._told("making the repository"):
            self._api.create_repo(**self._where, exist_ok=True, private=False)

    def commit(self, files: Mapping[str, bytes], onto: Tree | None, message: str, *, whole: bool) -> str:
        """One commit with these files on main, on `onto` and on nothing else; its hash. `whole`: they are all of the
        release, and what else is there goes."""
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        gone = sorted(onto.release_files - files.keys()) if whole and onto is not None else []
        operations: list[CommitOperation] = [
            *(CommitOperationAdd(path_in_repo=path, path_or_fileobj=files[path]) for path in sorted(files)),
            *(CommitOperationDelete(path_in_repo=path) for path in gone),
        ]
        with self._told("committing"):
            made = self._api.create_commit(
                **self._where,
                operations=operations,
                commit_message=message,
                parent_commit=None if onto is None else onto.commit,
                num_threads=1,
            )
        return str(made.oid)

    def tag(self, name: str, commit: str) -> None:
        """Set a tag that is not there; HubError where it is."""
        with self._told(f"tagging {name}"):
            self._api.create_tag(**self._where, tag=name, revision=commit, exist_ok=False)

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Errors of the client as ours, without the addresses, which may be signed, that some of them quote."""
        from huggingface_hub.errors import HfHubHTTPError

        try:
            yield
        except HubError as error:
            raise HubError(f"{self.repo}: {what}: {error}") from None
        except HfHubHTTPError as error:
            raise HubError(f"{self.repo}: {what}: {_answered(error)}") from None
        except httpx2.HTTPError as error:
            raise HubError(f"{self.repo}: {what}: {type(error).__name__}; the same command goes on from here") from None
        except (RuntimeError, ValueError, KeyError, TypeError) as error:  # a failed upload; an answer of another form
            cause = error.__cause__ if isinstance(error.__cause__, HubError) else None
            said = (
                str(cause) if cause else f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            )
            raise HubError(f"{self.repo}: {what}: {said}") from None


def _answered(error: Any) -> str:
    status = error.response.status_code
    said = error.server_message or error.response.headers.get("X-Error-Message") or ""
    hint = {
        401: "; set HF_TOKEN to a token that may write there",
        403: "; HF_TOKEN may not write there",
        409: "; somebody else was faster: look again",
        412: "; main moved meanwhile: look again",
    }.get(status, "")
    return f"status {status} {' '.join(said.split())[:200]}".rstrip() + hint
