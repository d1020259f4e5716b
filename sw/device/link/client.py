"""The host's end of the link. Requests are performed although frames may be lost on the line.

Several requests are under way at once, so neither the line nor the board waits for the other. The
line and the board keep the order of requests. So an answer to a request shows that unanswered
earlier requests, or their answers, have been lost. The client sends these requests again at once.
It sends the oldest request again if a garbled frame arrives, or if nothing arrives for a while. A
board that never answers, or a line on which no frame arrives intact, is given up with an error.

The other end may be any device. Only :meth:`Client._take` checks an answer: its session, its
status, and its length against the request. Every wait ends: after :data:`TRIES` sendings of a
request, after ``patience`` without an answer, and at the deadline of the run.
"""

import itertools
import secrets
import time

import numpy as np

from base.errors import RunError, UserError
from hw.link.frames import (MAX_WORDS, ONCE, QUEUE_BYTES, Answer, AnswerStatus, BoardDescription,
                            FrameReader, Operation, Request)


__all__ = ["Client"]


#: SILENCE: seconds without a byte until unanswered requests are sent again the first time.
#: PATIENCE: seconds without an answer until the client gives the board up.
SILENCE, PATIENCE = 0.25, 10.0

#: Largest value, in seconds, to which the silence grows between repetitions.
_LONGEST_SILENCE = 2.0

#: How often a request is sent before the line is given up. With one byte in a thousand wrong, three
#: in four of the longest requests come through, together with their answers.
TRIES = 100

#: Bytes of requests under way. The board's queue is larger, for requests that are sent again.
WINDOW = 3 * QUEUE_BYTES // 4

#: Words that one request fills: the board does not listen meanwhile.
FILL_WORDS = 1 << 12

#: Operations whose answers carry as many words as the request asks for.
_READS = frozenset({Operation.READ_REGISTERS, Operation.READ_MEMORY})


class Client:
    """A board that is open.

    Parameters
    ----------
    cable : sw.device.link.cable.Cable
        The cable, or an object with the same methods.
    silence, patience : float
        Seconds without a byte after which requests are sent again, and without an answer
        after which the board is given up.

    Attributes
    ----------
    board : hw.link.frames.BoardDescription
        The board's description of itself.
    repeated : int
        Requests that were sent again.

    Raises
    ------
    UserError
        There is no board of Graphloom. In any later call: the board is gone, or breaks the
        protocol.
    RunError
        In any later call: the time limit of :meth:`limit` was reached.
    ConfigError
        The board was built by another version.
    """

    def __init__(self, cable, *, silence=SILENCE, patience=PATIENCE):
        self._cable, self._silence, self._patience = cable, silence, patience
        self._reader = FrameReader()
        self._numbers = _Numbers()
        self.repeated = 0
        self._seconds = self._deadline = None
        self._session = secrets.randbelow((1 << 32) - 1) + 1
        self._opened = False
        answer, = self._perform([(Operation.OPEN, 0, 0, b"")])
        self._opened = True
        self.board = BoardDescription.parse(np.frombuffer(answer, np.uint32).tolist())

    def limit(self, seconds) -> None:
        """Begin a run that may take ``seconds``; None for no limit. Requests after that fail."""
        self._seconds = seconds
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def read_registers(self, address, count) -> list:
        """The words of consecutive host registers."""
        return np.frombuffer(b"".join(self._perform(_pieces(
            Operation.READ_REGISTERS, address, count))), np.uint32).tolist()

    def write_registers(self, address, words) -> None:
        """Write consecutive host registers, none of which is a command."""
        words = np.array(words, np.uint32)
        self._perform(_pieces(Operation.WRITE_REGISTERS, address, len(words), words))

    def command(self, address, value) -> None:
        """Write a register, once."""
        self._perform(_pieces(Operation.COMMAND, address, 1, np.array([value], np.uint32)))

    def read_memory(self, address, count, progress=None) -> np.ndarray:
        """Words of global memory; ``progress`` is called now and then with their number so far."""
        words = self._perform(_pieces(Operation.READ_MEMORY, address, count), progress)
        return np.frombuffer(bytearray(b"".join(words)), np.uint32)

    def write_memory(self, address, words, progress=None) -> None:
        """Write words of global memory."""
        words = np.ascontiguousarray(words, np.uint32)
        self._perform(_pieces(Operation.WRITE_MEMORY, address, len(words), words), progress)

    def fill_memory(self, address, count, value) -> None:
        """Write ``value`` into ``count`` words of global memory."""
        self._perform((Operation.FILL_MEMORY, 2, address + 4 * place,
                       np.array([min(FILL_WORDS, count - place), value], np.uint32).tobytes())
                      for place in range(0, count, FILL_WORDS))

    def reset(self) -> None:
        """Reset the GPU, once. Memory stays."""
        self._perform([(Operation.RESET, 0, 0, b"")])

    def close(self) -> None:
        """Give the cable back."""
        self._cable.close()

    def _perform(self, requests, progress=None):
        """Perform requests ``(operation, count, address, payload)`` and return their payloads, in
        order. A command must be the only one."""
        left = enumerate(requests)
        answers, flight = {}, _Flight(self._numbers)
        heard, pause = time.monotonic(), self._silence
        following = next(left, None)
        while following is not None or flight.requests:
            while following is not None and flight.bytes < WINDOW:
                place, (operation, count, address, payload) = following
                flight.send(place, Request(0, operation, count, self._session, address, payload))
                following = next(left, None)
            if flight.out:
                self._cable.write(bytes(flight.out))
                flight.out.clear()
            received = self._cable.read(pause)
            if received:
                pause = self._silence
            else:
                pause = min(2 * pause, _LONGEST_SILENCE)    # it may be slow
                self._again(flight, flight.oldest())
            useful = [self._take(flight, content, answers)
                      for content in self._reader.feed(received)]
            now = time.monotonic()
            if any(useful):
                heard = now
            self._check_time(now, heard)
            if progress is not None and received:
                progress(len(answers))
        return [answers[place] for place in range(len(answers))]

    def _check_time(self, now, heard):
        """Raise an error if nothing useful was heard for too long, or at the deadline."""
        if self._deadline is not None and now >= self._deadline:
            raise RunError(f"{self._cable.port}: not finished after {self._seconds:g} s: the time "
                           "limit of a run on a board was reached (--time-limit)")
        if now - heard >= self._patience:           # another device may talk on the line
            raise UserError(
                f"{self._cable.port}: " + (
                    "the board has not answered" if self._opened else
                    "no board answers (is it loaded, are port and baud rate right?)")
                + f" for {self._patience:g} s")

    def _take(self, flight, content, answers):
        """Take a frame, None if it was garbled, and put the payload of an answer into ``answers``.

        Returns whether the frame shows that the board listens: an expected answer, or the report of
        a garbled request. Raises UserError for an answer that no board gives.
        """
        answer = None if content is None else Answer.decode(content)
        if answer is None:
            self._again(flight, flight.oldest())
            return False
        if answer.session != self._session:
            if self._opened:
                raise UserError(f"{self._cable.port}: the board was reset, or another program has "
                                "opened it, while it was in use")
            return False                        # it is for who had it before
        self._check_length(answer, answer.count, "its header says")
        if answer.status == AnswerStatus.GARBLED:
            self._again(flight, flight.oldest())
            return True
        if answer.status != AnswerStatus.DONE:
            raise UserError(f"{self._cable.port}: the board refused a request (status "
                            f"{answer.status})")
        place, request, lost = flight.answered(answer.sequence)
        if request is not None:
            if request.operation != Operation.OPEN:     # a board of another version says more
                self._check_length(answer, request.count if request.operation in _READS else 0,
                                   "the request asked for")
            answers[place] = answer.payload
        for other in lost:
            self._again(flight, other)
        return request is not None

    def _check_length(self, answer, words, who):
        if len(answer.payload) != 4 * words:
            raise UserError(
                f"{self._cable.port}: the device breaks the protocol of the link: an answer has "
                f"{len(answer.payload)} bytes, {who} {4 * words} (is it a board of Graphloom?)")

    def _again(self, flight, place):
        """Send a request again, unless it has been sent too often."""
        if place is None:
            return
        self.repeated += 1
        if flight.again(place) > TRIES:
            raise UserError(f"{self._cable.port}: the line is too bad: a request was sent {TRIES} "
                            "times and was not answered (is the baud rate right?)")


class _Numbers:
    """Sequence numbers, in rising order. Two successive commands never have the same number, as the
    board would take the second for a repetition of the first."""

    def __init__(self):
        self._cycle = itertools.cycle(range(1 << 16))
        self._command = None

    def draw(self, command):
        """The next number. ``command``: whether the number is for an operation that the board must
        perform only once."""
        number = next(self._cycle)
        if command:
            if number == self._command:
                number = next(self._cycle)
            self._command = number
        return number


class _Flight:
    """The requests that are under way.

    A request gets another sequence number each time that it is sent, so the answer tells which of
    the frames has arrived. Commands keep their number, because the board knows them by it.

    Attributes
    ----------
    requests : dict of int to list
        The unanswered requests, by place. An item has the request, how often it was sent, its last
        sequence number, and the bytes of its frame.
    bytes : int
        Sum of the bytes of their frames.
    out : bytearray
        Bytes to put on the line.
    """

    def __init__(self, numbers):
        self._numbers = numbers
        self.requests, self.bytes, self.out = {}, 0, bytearray()
        self._sent = {}                 # places by sequence number, in the order they were sent

    def send(self, place, request):
        """Send a new request."""
        self.requests[place] = [request, 0, None, 0]
        self.again(place)
        self.bytes += self.requests[place][3]

    def again(self, place):
        """Send a request again. Returns how often it has been sent."""
        entry = self.requests[place]
        request, times, number, _ = entry
        if number is None or request.operation not in ONCE:
            number = self._numbers.draw(request.operation in ONCE)
        frame = request._replace(sequence=number).encode()
        self._sent.pop(number, None)
        self._sent[number] = place
        if not times:
            entry[3] = len(frame)
        entry[1:3] = times + 1, number
        self.out += frame
        return times + 1

    def oldest(self):
        """The request that was sent the longest time ago; None if there is none."""
        return next((place for number, place in self._sent.items() if self._is_last(number, place)),
                    None)

    def answered(self, number):
        """An answer has come. Returns the place and the request that it is the first to answer, or
        None, and the places of lost requests, which were sent before that request and not since.
        """
        if number not in self._sent:
            return None, None, []
        before = list(itertools.takewhile(lambda other: other != number, self._sent))
        place = self._sent.pop(number)
        request, _, _, size = self.requests.pop(place, (None, 0, None, 0))
        self.bytes -= size
        lost = [self._sent[other] for other in before if self._is_last(other, self._sent[other])]
        for other in before:
            del self._sent[other]
        return place, request, lost

    def _is_last(self, number, place):
        """Whether this is the last sending of an unanswered request."""
        return place in self.requests and self.requests[place][2] == number


def _pieces(operation, address, count, words=None):
    """Requests for ``count`` words from an address on."""
    for place in range(0, count, MAX_WORDS):
        size = min(MAX_WORDS, count - place)
        payload = b"" if words is None else words[place:place + size].tobytes()
        yield operation, size, address + 4 * place, payload
