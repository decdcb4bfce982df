"""What each request does to the stand-in's memory, and what is answered: GitHub's own rules with it.

Belongs here: each operation of the description that is asked for. Does not belong here: rights of tokens, and how
requests come (server).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from tests.github_api.described import Operation
from tests.github_api.memory import CLASSIC, PERSON, Call, Memory

_MOST_ANNOTATIONS, _COMMENT, _OUTPUT = 50, 65_536, 65_535


class Refusal(Exception):
    """An answer other than what was asked for."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


Answer = tuple[int, Any, dict[str, str]]
DO: dict[tuple[str, str], Callable[[Memory, Call, Operation], Answer]] = {}
_REPOSITORY = "/repos/{owner}/{repo}"


def _does(
    method: str, path: str, below: str = _REPOSITORY
) -> Callable[[Callable[[Memory, Call, Operation], Answer]], None]:
    def register(do: Callable[[Memory, Call, Operation], Answer]) -> None:
        DO[method, below + path] = do

    return register


def _page(github: Memory, call: Call, items: list[Any]) -> tuple[list[Any], dict[str, str]]:
    """One page, with the header that leads to the others."""
    size, page = int(call.query.get("per_page", 30)), int(call.query.get("page", 1))
    last = max(1, -(-len(items) // size))
    base = f"{github.url}{call.path}"
    rest = "".join(f"&{name}={value}" for name, value in call.query.items() if name != "page")
    links = [f'<{base}?page={number}{rest}>; rel="{name}"' for number, name in ((page + 1, "next"), (last, "last"))]
    return items[(page - 1) * size : page * size], {"Link": ", ".join(links)} if page < last else {}


def _there(found: Any) -> Any:
    if found is None:
        raise Refusal(404, "Not Found")
    return found


@_does("get", "/user", below="")
def _get_user(github: Memory, _: Call, __: Operation) -> Answer:
    return 200, github.made("private-user", login=PERSON, type="User", user_view_type="private"), {}


@_does("get", "")
def _get_repository(github: Memory, _: Call, __: Operation) -> Answer:
    made = github.made("full-repository", full_name=github.repository, default_branch="main")
    return 200, made, {}


@_does("get", "/issues")
def _list_issues(github: Memory, call: Call, _: Operation) -> Answer:
    wanted = set(filter(None, call.query.get("labels", "").split(",")))
    state = call.query.get("state", "open")
    found = [
        each
        for each in github.state.issues.values()
        if state in ("all", each["state"]) and wanted <= {label["name"] for label in each["labels"]}
    ]
    page, links = _page(github, call, found)
    return 200, page, links


@_does("post", "/issues")
def _create_issue(github: Memory, call: Call, _: Operation) -> Answer:
    labels = [{"name": name} for name in call.body.get("labels", ())]
    made = github.issue(github.next_number(), title=call.body["title"], body=call.body.get("body"), labels=labels)
    login, bot = _author(call)
    made["user"] = github.user(login, bot=bot)
    return 201, made, {}


@_does("get", "/issues/{issue_number}")
def _get_issue(github: Memory, _: Call, operation: Operation) -> Answer:
    return 200, _there(github.state.issues.get(int(operation.names["issue_number"]))), {}


@_does("patch", "/issues/{issue_number}")
def _edit_issue(github: Memory, call: Call, operation: Operation) -> Answer:
    issue = _there(github.state.issues.get(int(operation.names["issue_number"])))
    issue.update(call.body)
    return 200, issue, {}


@_does("get", "/issues/{issue_number}/comments")
def _list_comments(github: Memory, call: Call, operation: Operation) -> Answer:
    end = f"/issues/{operation.names['issue_number']}"
    found = [each for each in github.state.comments.values() if each["issue_url"].endswith(end)]
    page, links = _page(github, call, found)
    return 200, page, links


@_does("post", "/issues/{issue_number}/comments")
def _create_comment(github: Memory, call: Call, operation: Operation) -> Answer:
    if len(call.body["body"]) > _COMMENT:
        raise Refusal(422, "body is too long (maximum is 65536 characters)")
    number = int(operation.names["issue_number"])
    _there(github.state.issues.get(number))
    return 201, github.comment(number, call.body["body"], *_author(call)), {}


def _author(call: Call) -> tuple[str, bool]:
    return (PERSON, False) if call.token == CLASSIC else ("github-actions[bot]", True)


@_does("get", "/issues/comments/{comment_id}")
def _get_comment(github: Memory, _: Call, operation: Operation) -> Answer:
    return 200, _there(github.state.comments.get(int(operation.names["comment_id"]))), {}


@_does("patch", "/issues/comments/{comment_id}")
def _edit_comment(github: Memory, call: Call, operation: Operation) -> Answer:
    comment = _there(github.state.comments.get(int(operation.names["comment_id"])))
    if len(call.body["body"]) > _COMMENT:
        raise Refusal(422, "body is too long (maximum is 65536 characters)")
    comment["body"] = call.body["body"]
    return 200, comment, {}


@_does("post", "/check-runs")
def _create_check_run(github: Memory, call: Call, _: Operation) -> Answer:
    _refuse_check_run(call.body)
    number = github.next_number()
    return 201, _check_run(github, number, call.body, github.made("check-run", id=number, check_suite={"id": 1})), {}


@_does("get", "/check-runs/{check_run_id}")
def _get_check_run(github: Memory, _: Call, operation: Operation) -> Answer:
    return 200, _there(github.state.check_runs.get(int(operation.names["check_run_id"]))), {}


@_does("patch", "/check-runs/{check_run_id}")
def _edit_check_run(github: Memory, call: Call, operation: Operation) -> Answer:
    number = int(operation.names["check_run_id"])
    before = _there(github.state.check_runs.get(number))
    _refuse_check_run({**before, **call.body})
    return 200, _check_run(github, number, call.body, before), {}


def _refuse_check_run(body: Mapping[str, Any]) -> None:
    output = body.get("output") or {}
    if body.get("status") == "completed" and not body.get("conclusion"):
        raise Refusal(422, "conclusion is required where status is completed")
    if len(output.get("annotations") or ()) > _MOST_ANNOTATIONS:
        raise Refusal(422, "No more than 50 annotations")
    if any(len((output.get(part) or "").encode()) > _OUTPUT for part in ("summary", "text")):
        raise Refusal(422, "Only 65535 characters are allowed")


def _check_run(github: Memory, number: int, body: Mapping[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    output = dict(body.get("output") or {})
    kept = github.state.annotations.setdefault(number, [])
    kept += output.pop("annotations", None) or ()
    told = {name: body[name] for name in ("name", "head_sha", "external_id", "status", "conclusion") if name in body}
    shown = {
        **before["output"],
        **output,
        "annotations_count": len(kept),
        "annotations_url": f"{github.url}/annotations",
    }
    made = {**before, **told, "output": shown, **github.address("check-runs", number)}
    github.state.check_runs[number] = made
    return made


@_does("get", "/commits/{ref}/check-runs")
def _list_check_runs(github: Memory, call: Call, operation: Operation) -> Answer:
    wanted = call.query.get("check_name")
    found = [
        each
        for each in github.state.check_runs.values()
        if each["head_sha"] == operation.names["ref"] and wanted in (None, each["name"])
    ]
    page, links = _page(github, call, found)
    return 200, {"total_count": len(found), "check_runs": page}, links


@_does("get", "/commits/{ref}")
def _get_commit(github: Memory, _: Call, operation: Operation) -> Answer:
    return 200, github.made("commit", sha=operation.names["ref"]), {}


@_does("get", "/pulls")
def _list_pulls(github: Memory, call: Call, _: Operation) -> Answer:
    state, head = call.query.get("state", "open"), call.query.get("head")
    found = [
        each
        for each in github.state.pulls.values()
        if state in ("all", each["state"]) and head in (None, each["head"]["label"])
    ]
    page, links = _page(github, call, found)
    return 200, page, links


@_does("post", "/pulls")
def _create_pull(github: Memory, call: Call, _: Operation) -> Answer:
    number = github.next_number()
    made = github.made("pull-request", number=number, state="open", title=call.body["title"])
    made.update(body=call.body.get("body"), **github.address("pulls", number))
    made["head"].update(ref=call.body["head"], label=f"{github.owner}:{call.body['head']}")
    github.state.pulls[number] = made
    return 201, made, {}


@_does("get", "/branches/{branch}")
def _get_branch(github: Memory, _: Call, operation: Operation) -> Answer:
    sha = _there(github.state.refs.get(f"refs/heads/{unquote(operation.names['branch'])}"))
    made = github.made("branch-with-protection", name=operation.names["branch"])
    made["commit"] = github.made("commit", sha=sha)
    return 200, made, {}


@_does("post", "/git/refs")
def _create_ref(github: Memory, call: Call, _: Operation) -> Answer:
    if call.body["ref"] in github.state.refs:
        raise Refusal(422, "Reference already exists")
    github.state.refs[call.body["ref"]] = call.body["sha"]
    made = github.made("git-ref", ref=call.body["ref"])
    made["object"].update(sha=call.body["sha"])
    return 201, made, {}


@_does("get", "/contents/{path}")
def _get_file(github: Memory, call: Call, operation: Operation) -> Answer:
    path = operation.names["path"]
    content = _there(github.state.files.get((call.query.get("ref", "main"), path)))
    made = github.made("content-file", name=path.rpartition("/")[2], path=path, content=content.decode())
    return 200, {**made, "type": "file", "encoding": "base64", "size": len(content)}, {}


@_does("put", "/contents/{path}")
def _put_file(github: Memory, call: Call, operation: Operation) -> Answer:
    if (call.body.get("branch", "main"), operation.names["path"]) in github.state.files and "sha" not in call.body:
        raise Refusal(422, 'Invalid request. "sha" wasn\'t supplied.')
    github.state.files[call.body.get("branch", "main"), operation.names["path"]] = call.body["content"].encode()
    return 201, github.made("file-commit"), {}


@_does("get", "/actions/runs/{run_id}")
def _get_run(github: Memory, _: Call, operation: Operation) -> Answer:
    return 200, _there(github.state.runs.get(int(operation.names["run_id"]))), {}


@_does("get", "/actions/runs/{run_id}/artifacts")
def _list_artifacts(github: Memory, call: Call, operation: Operation) -> Answer:
    run = int(operation.names["run_id"])
    found = [about for about, _ in github.state.artifacts.values() if about["workflow_run"]["id"] == run]
    page, links = _page(github, call, found)
    return 200, {"total_count": len(found), "artifacts": page}, links


@_does("get", "/actions/artifacts/{artifact_id}/{archive_format}")
def _download(github: Memory, _: Call, operation: Operation) -> Answer:
    number = int(operation.names["artifact_id"])
    _there(github.state.artifacts.get(number))
    return 302, b"", {"Location": f"{github.url.removesuffix(github.prefix)}/blob/{number}"}
