"""The client libraries that the corpus is fetched with, at their real base URLs, on the recorder. Their own patience is
off.

GitHub and the Hub are asked by the probes through their documented REST APIs: PyGithub derives new requesters from a
client (`lazy`, `withAuth`), which forget the connection class they were given and go past the recorder, and
huggingface_hub keeps one HTTP client a process, whose paging sleeps and retries on the system clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import requests

if TYPE_CHECKING:
    import arxiv
    import openreview.api

    from pipeline.sources.recorder import Recorder


def arxiv_client(recorder: Recorder) -> arxiv.Client:
    """arxiv.py, for `results`; sources are fetched by `recorder.client`."""
    import arxiv

    client = arxiv.Client(page_size=100, delay_seconds=0, num_retries=0)
    client._session = _session(recorder)
    return client


def openreview_client(
    recorder: Recorder, username: str | None = None, password: str | None = None
) -> openreview.api.OpenReviewClient:
    """openreview-py, API v2. Anonymous reading of notes is challenged since August 2026; a free account helps."""
    import openreview.api

    class Client(openreview.api.OpenReviewClient):  # type: ignore[misc]
        """The library logs in while it is made if its environment variables are set, before our session is in place."""

        recorded = False

        def login_user(self, *args: Any, **kwargs: Any) -> Any:
            return super().login_user(*args, **kwargs) if self.recorded else None

    client = Client(baseurl="https://api2.openreview.net")
    client.session, client.recorded = _session(recorder), True
    if username and password:
        client.login_user(username, password)
    return client


def _session(recorder: Recorder) -> requests.Session:
    session = requests.Session()
    session.trust_env = False  # no .netrc, no proxies of the environment
    session.mount("https://", recorder.adapter())
    session.mount("http://", recorder.adapter())
    return session
