"""The frames that wait for the next write of a stream."""

from __future__ import annotations

import asyncio
from itertools import islice

from call import failed
from spindle.v1 import progress_pb2, worker_service_pb2

WorkerFrame = worker_service_pb2.WorkerFrame

MAX_BATCH_FRAMES = 128
MAX_BATCH_BYTES = 256 * 1024
DEFAULT_MESSAGE_BYTES = 4 * 1024 * 1024
OVERHEAD_BYTES = 64
"""Room for what stands around a frame in its message."""


class Outbox:
    """Frames in order. What becomes ready between two writes goes in one message, within bounds (5.2)."""

    def __init__(self) -> None:
        self.max_message_bytes = DEFAULT_MESSAGE_BYTES
        self._frames: list[WorkerFrame] = []
        self._reports: dict[str, progress_pb2.Progress] = {}
        self._ready = asyncio.Event()
        self._closed = False

    def put(self, frame: WorkerFrame) -> None:
        self._frames.append(self._fitting(frame))
        self._ready.set()

    def report(self, progress: progress_pb2.Progress) -> None:
        """Reports of one call are merged while they wait, so a slow reader makes no queue grow (4.4)."""
        if progress.ByteSize() + OVERHEAD_BYTES > self.max_message_bytes:
            return
        waiting = self._reports.get(progress.lease_token)
        if waiting is not None:
            waiting.CopyFrom(progress)
            return
        frame = WorkerFrame(progress=progress)
        # The frame's own copy is the one that is written.
        self._reports[progress.lease_token] = frame.progress
        self.put(frame)

    def close(self) -> None:
        """Nothing more will be put in."""
        self._closed = True
        self._ready.set()

    async def take(self) -> list[WorkerFrame]:
        """The next frames to write, at least one; none once the outbox is closed and empty."""
        while not self._frames and not self._closed:
            self._ready.clear()
            await self._ready.wait()
        room = min(MAX_BATCH_BYTES, self.max_message_bytes)
        count = 0
        for frame in islice(self._frames, MAX_BATCH_FRAMES):
            room -= frame.ByteSize() + OVERHEAD_BYTES
            # One that is larger than a batch goes alone.
            if count > 0 and room < 0:
                break
            count += 1
        taken, self._frames = self._frames[:count], self._frames[count:]
        for frame in taken:
            if frame.HasField("progress"):
                del self._reports[frame.progress.lease_token]
        return taken

    def _fitting(self, frame: WorkerFrame) -> WorkerFrame:
        """An answer that the engine could not read becomes the failure that says so (3.4)."""
        size = frame.ByteSize() + OVERHEAD_BYTES
        if not frame.HasField("answer") or size <= self.max_message_bytes:
            return frame
        message = f"The result has {size} bytes, and the engine reads at most {self.max_message_bytes}."
        answer = failed(message, "result_too_large")
        answer.lease_token = frame.answer.lease_token
        return WorkerFrame(answer=answer)
