"""The client libraries that services are asked with, at their real base URLs, on the recorder. Their own patience is
off.

The probes ask GitHub's REST API and the Hub's themselves: they need the exchange of each answer, also of a refusal, and
huggingface_hub keeps one HTTP client a process, whose paging sleeps and retries on the system clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import requests

if TYPE_CHECKING:
    import arxiv
    import github
    import openreview.api

    from pipeline.sources.github_tokens import Tokens
    from pipeline.sources.recorder import Recorder, SaysGone


def arxiv_client(recorder: Recorder, says_gone: SaysGone | None = None) -> arxiv.Client:
    """arxiv.py, for `results`; sources are fetched by the recorder itself. `says_gone` as in `Recorder.ask`."""
    import arxiv

    client = arxiv.Client(page_size=100, delay_seconds=0, num_retries=0)
    client._session = _session(recorder, says_gone)
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


def github_client(recorder: Recorder, tokens: Tokens) -> github.Github:
    """PyGithub, for one thread; each request goes with the token that has most left for it, or without one where there
    is none.

    PyGithub's requesters make their connections themselves and derive further requesters (`lazy`, `withAuth`,
    `withApiVersion`) by naming the base class, which would go past the recorder: ours derive their own kind.
    """
    import github
    from github.Requester import HTTPSRequestsConnectionClass, Requester

    from pipeline.sources.github_tokens import resource_of

    class Connection(HTTPSRequestsConnectionClass):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.session = _session(recorder)
            self.session.auth = Requester.noopAuth
            self.used = ""

        def request(self, verb: str, url: str, input: Any, headers: dict[str, str], stream: bool = False) -> None:
            self.used = tokens.best(resource_of(url), recorder.clock.now())
            # A copy: PyGithub logs the headers it was given.
            given = {**headers, "Authorization": f"Bearer {self.used}"} if self.used else headers
            super().request(verb, url, input, given, stream)

        def getresponse(self) -> Any:
            response = super().getresponse()
            tokens.told(self.used, {name.lower(): value for name, value in response.getheaders()})
            return response

    class Recorded(Requester):
        # The names that Requester's own code looks up on itself.
        _Requester__httpsConnectionClass = Connection

        def withAuth(self, auth: Any) -> Recorded:
            return Recorded(**{**self.kwargs, "auth": auth})

        def withLazy(self, lazy: Any) -> Recorded:
            same = lazy is github.GithubObject.NotSet or lazy == self.is_lazy
            return self if same else Recorded(**{**self.kwargs, "lazy": lazy})

        def withApiVersion(self, api_version: str | None) -> Recorded:
            return Recorded(**{**self.kwargs, "api_version": api_version})

    client = github.Github(retry=None, seconds_between_requests=None, seconds_between_writes=None)
    client.__dict__["_Github__requester"] = Recorded(**client.requester.kwargs)  # its own name for it
    return client


def _session(recorder: Recorder, says_gone: SaysGone | None = None) -> requests.Session:
    session = requests.Session()
    session.trust_env = False  # no .netrc, no proxies of the environment
    for scheme in ("https://", "http://"):
        session.mount(scheme, recorder.adapter(says_gone=says_gone))
    return session
