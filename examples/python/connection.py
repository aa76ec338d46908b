"""One Connect of a worker, from its hello to its end: reading, writing, and whether the other side still speaks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import grpc
import grpc.aio
from google.protobuf.duration_pb2 import Duration

from outbox import DEFAULT_MESSAGE_BYTES, Outbox, WorkerFrame
from spindle.v1 import worker_service_pb2 as pb

# What holds until a welcome says otherwise (5.3).
HEARTBEAT_SECONDS = 10.0
SILENCE_SECONDS = 30.0

CHANNEL_OPTIONS = (
    # A peer that is gone without a word is noticed by pings.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 8_000),
    # The waits between streams are the worker's; the channel's own would be added to them, up to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # Welcome.max_message_bytes bounds what is sent; this is what the hello says that we read.
    ("grpc.max_receive_message_length", DEFAULT_MESSAGE_BYTES),
)


@dataclass(frozen=True)
class End:
    """How the other side ended it, or what amounts to that."""

    code: grpc.StatusCode
    details: str


class Connection:
    def __init__(
        self, stream: grpc.aio.StreamStreamCall[pb.ConnectRequest, pb.ConnectResponse], hello: pb.Hello
    ) -> None:
        self.received_through = 0
        self.no_more_dispatches = hello.draining
        """The hello or the engine said that it drains."""
        self.outbox = Outbox()
        self._stream = stream
        self._welcomed = asyncio.Event()
        self._left = asyncio.Event()
        self._heartbeat_seconds = HEARTBEAT_SECONDS
        self._silence_seconds = SILENCE_SECONDS
        self._last_heard = now()
        self.outbox.put(WorkerFrame(hello=hello))

    async def run(self, receive: Callable[[pb.EngineFrame], None], beat: Callable[[], None]) -> End | None:
        """Runs until the other side has ended it, or this side has left it. Nothing is read after that (5.5)."""
        reading = asyncio.create_task(self._read(receive))
        silence = asyncio.create_task(self._beat_until_silent(beat))
        leaving = asyncio.create_task(self._left.wait())
        writing = asyncio.create_task(self._write())
        try:
            await asyncio.wait((reading, silence, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._stream.cancel()
            for task in (reading, silence, leaving, writing):
                task.cancel()
            ended = await asyncio.gather(reading, silence, leaving, writing, return_exceptions=True)
        for outcome in ended:
            if isinstance(outcome, Exception):
                raise outcome
        if self._left.is_set():
            return None
        if reading.cancelled():
            return End(grpc.StatusCode.UNAVAILABLE, f"nothing was heard for {self._silence_seconds} s")
        return reading.result()

    @property
    def welcomed(self) -> bool:
        return self._welcomed.is_set()

    def welcome(self, welcome: pb.Welcome) -> None:
        self._heartbeat_seconds = seconds(welcome.heartbeat_interval) or HEARTBEAT_SECONDS
        self._silence_seconds = seconds(welcome.silence_timeout) or SILENCE_SECONDS
        self.outbox.max_message_bytes = welcome.max_message_bytes or DEFAULT_MESSAGE_BYTES
        self._welcomed.set()

    def leave_after(self, pause: float) -> None:
        asyncio.get_running_loop().call_later(pause, self._left.set)

    async def _read(self, receive: Callable[[pb.EngineFrame], None]) -> End:
        try:
            while isinstance(response := await self._stream.read(), pb.ConnectResponse):
                self._last_heard = now()
                for frame in response.frames:
                    receive(frame)
            return End(grpc.StatusCode.OK, "the engine ended it")
        except grpc.aio.AioRpcError as error:
            return End(error.code(), error.details() or "")

    async def _write(self) -> None:
        try:
            while frames := await self.outbox.take():
                await self._stream.write(pb.ConnectRequest(frames=frames))
            await self._stream.done_writing()
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            # The stream is over. Its reader has the status.
            return

    async def _beat_until_silent(self, beat: Callable[[], None]) -> None:
        try:
            async with asyncio.timeout(SILENCE_SECONDS):
                await self._welcomed.wait()
        except TimeoutError:
            return
        while now() - self._last_heard < self._silence_seconds:
            await asyncio.sleep(self._heartbeat_seconds)
            beat()


def now() -> float:
    """Seconds that no change of the clock on the wall disturbs."""
    return asyncio.get_running_loop().time()


def seconds(duration: Duration) -> float:
    return duration.seconds + duration.nanos / 1e9
