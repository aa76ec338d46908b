"""A worker's stream in Python, on grpc.aio and protobuf alone. docs/workers.md tells why each part is there."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import grpc
import grpc.aio

from call import Answer, Call, Tool, answer_of, utf8
from connection import CHANNEL_OPTIONS, Connection, now, seconds
from outbox import WorkerFrame
from spindle.v1 import progress_pb2, worker_service_pb2 as pb, worker_service_pb2_grpc
from tracing import traced

log = logging.getLogger(__name__)

DRAIN_SECONDS = 30.0
FIRST_BACKOFF_SECONDS = 0.25
LAST_BACKOFF_SECONDS = 15.0

# Trying again cannot help after these (5.3).
FINAL = frozenset(
    {
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.UNIMPLEMENTED,
    }
)


class Refused(Exception):
    """The engine does not want this worker, and would say so again."""


@dataclass
class Lease:
    """A dispatch that this process holds: it runs, or its answer is not acknowledged yet."""

    task: asyncio.Task[Answer]
    asked_to_stop: bool = False
    answer: WorkerFrame | None = None

    def stop(self) -> None:
        self.asked_to_stop = True
        self.task.cancel()


class Worker:
    """One process as the engine knows it, across its connections."""

    def __init__(self, address: str, name: str, tools: Sequence[Tool], max_in_flight: int = 16) -> None:
        self._address = address
        self._name = name
        self._tools = {tool.definition.name: tool for tool in tools}
        self._max_in_flight = max_in_flight
        self._instance_id = secrets.token_hex(16)
        self._resume_token = ""
        self._stream_number = 0
        self._heartbeats = 0
        self._backoff = FIRST_BACKOFF_SECONDS
        self._leases: dict[str, Lease] = {}
        self._connection: Connection | None = None
        self._draining = asyncio.Event()
        self._bound = asyncio.timeout(None)

    async def serve(self) -> None:
        """Serves until it has drained. Raises Refused, or TimeoutError where a drain takes too long."""
        try:
            async with (
                self._bound,
                grpc.aio.insecure_channel(self._address, options=CHANNEL_OPTIONS) as channel,
            ):
                stub = worker_service_pb2_grpc.WorkerServiceStub(channel)
                while not self._drained():
                    await self._serve_connection(Connection(stub.Connect(), self._hello()))
        finally:
            for lease in self._leases.values():
                lease.stop()

    def drain(self) -> None:
        """Asks for no more work. What is held is finished, within a bound (5.9)."""
        if self._draining.is_set():
            return
        self._draining.set()
        self._bound.reschedule(now() + DRAIN_SECONDS)
        self._send(WorkerFrame(drain=pb.Drain(reason="the process was asked to end")))

    async def _serve_connection(self, connection: Connection) -> None:
        self._connection = connection
        try:
            end = await connection.run(partial(self._receive, connection), partial(self._heartbeat, connection))
        finally:
            # What it carried goes on (5.5).
            self._connection = None
        if end is None or self._drained():
            return
        if end.code in FINAL:
            raise Refused(f"{end.code.name}: {end.details}")
        log.warning("the stream ended with %s: %s", end.code.name, end.details)
        await self._pause(self._next_backoff())

    def _hello(self) -> pb.Hello:
        self._stream_number += 1
        return pb.Hello(
            instance_id=self._instance_id,
            resume_token=self._resume_token,
            stream_number=self._stream_number,
            worker_name=self._name,
            sdk="example-python",
            tools=[pb.ToolOffer(tool=tool.definition) for tool in self._tools.values()],
            max_in_flight=self._max_in_flight,
            held=[
                pb.HeldLease(lease_token=token, answered=lease.answer is not None)
                for token, lease in self._leases.items()
            ],
            draining=self._draining.is_set(),
        )

    def _receive(self, connection: Connection, frame: pb.EngineFrame) -> None:
        match frame.WhichOneof("kind"):
            case "welcome":
                self._welcomed(connection, frame.welcome)
            case "dispatch":
                connection.received_through = frame.dispatch.sequence
                self._start(frame.dispatch)
            case "cancel":
                self._stop([frame.cancel.lease_token])
            case "heartbeat_reply":
                self._stop(frame.heartbeat_reply.abandon)
            case "acknowledge":
                # Whatever the verdict: the duty to resend has ended (5.7).
                self._leases.pop(frame.acknowledge.lease_token, None)
                self._leave_if_drained(connection)
            case "drain_reply":
                connection.no_more_dispatches = True
                self._leave_if_drained(connection)
            case "go_away":
                self._go_away(connection, frame.go_away)
            case _:
                # Newer engines may say more (5.12).
                pass

    def _welcomed(self, connection: Connection, welcome: pb.Welcome) -> None:
        self._resume_token = welcome.resume_token
        self._backoff = FIRST_BACKOFF_SECONDS
        connection.welcome(welcome)
        for refusal in welcome.refused_tools:
            log.warning("the engine refused %s: %s", refusal.name, refusal.reason)
        # At once and first: nothing is dispatched before it (5.1).
        self._heartbeat(connection)
        self._stop(welcome.abandon)
        for lease in self._leases.values():
            if lease.answer is not None:
                self._send(lease.answer)
        if self._draining.is_set() and not connection.no_more_dispatches:
            self._send(WorkerFrame(drain=pb.Drain()))
        self._leave_if_drained(connection)

    def _heartbeat(self, connection: Connection) -> None:
        self._heartbeats += 1
        beat = pb.Heartbeat(
            sequence=self._heartbeats, received_through=connection.received_through, held=list(self._leases)
        )
        self._send(WorkerFrame(heartbeat=beat))

    def _start(self, dispatch: pb.Dispatch) -> None:
        """Starts what it reads, at once: the engine keeps to max_in_flight (5.4), so nothing waits here."""
        token = dispatch.lease_token
        kind = dispatch.trigger.WhichOneof("kind")
        execute = dispatch.trigger.tool_execute
        tool = self._tools.get(execute.name)
        if token in self._leases:
            return
        if kind != "tool_execute" or tool is None:
            reason = f"this worker does not serve {execute.name or kind or 'a trigger that it does not know'}"
            self._send(WorkerFrame(reject=pb.Reject(lease_token=token, reason=reason)))
            return
        call = Call(dispatch, execute, partial(self._report, token))
        task = asyncio.create_task(traced(tool, call), name=execute.name)
        lease = self._leases[token] = Lease(task)
        # Called however the task ends, even if it was cancelled before its first step.
        task.add_done_callback(partial(self._answer, token, lease))

    def _answer(self, token: str, lease: Lease, task: asyncio.Task[Answer]) -> None:
        answer = answer_of(task, lease.asked_to_stop)
        answer.lease_token = token
        # Kept until it is acknowledged, and sent again after a reconnect (5.7).
        lease.answer = WorkerFrame(answer=answer)
        self._send(lease.answer)

    def _report(self, token: str, completed: float, total: float, activity: str) -> None:
        lease = self._leases.get(token)
        connection = self._connection
        if lease is None or lease.task.done() or connection is None or not connection.welcomed:
            return
        connection.outbox.report(
            progress_pb2.Progress(
                lease_token=token, completed=completed, total=total, activity=utf8(activity)
            )
        )

    def _stop(self, tokens: Sequence[str]) -> None:
        """Stops handlers. Each still answers, once it has really stopped."""
        for token in tokens:
            lease = self._leases.get(token)
            if lease is not None:
                lease.stop()

    def _go_away(self, connection: Connection, go_away: pb.GoAway) -> None:
        if go_away.reason == pb.GO_AWAY_REASON_REPLACED:
            raise Refused("another stream of this process took its place: forks must not share a worker")
        connection.leave_after(seconds(go_away.reconnect_after) or self._next_backoff())

    def _send(self, frame: WorkerFrame) -> None:
        """Before a welcome nothing is sent: answers follow it, and the rest is of no use later."""
        if self._connection is not None and self._connection.welcomed:
            self._connection.outbox.put(frame)

    def _drained(self) -> bool:
        return self._draining.is_set() and not self._leases

    def _leave_if_drained(self, connection: Connection) -> None:
        if connection.no_more_dispatches and self._drained():
            connection.outbox.close()

    def _next_backoff(self) -> float:
        """Full jitter, so that workers do not come back all at once."""
        pause = random.uniform(0, self._backoff)
        self._backoff = min(self._backoff * 2, LAST_BACKOFF_SECONDS)
        return pause

    async def _pause(self, pause: float) -> None:
        """Waits, but not when it is asked to drain: with nothing held it is done."""
        if self._draining.is_set():
            await asyncio.sleep(pause)
            return
        try:
            await asyncio.wait_for(self._draining.wait(), pause)
        except TimeoutError:
            return
