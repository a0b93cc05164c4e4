"""Speech of `flite` as frames for a model, with the time where each phone ends."""

import os
import subprocess
import wave
from typing import NamedTuple

import numpy

from attnbench.analysis import command

FLITE = "/usr/bin/flite"
# Voices of different people, at 16 kHz; slt is a woman's.
SPEAKERS = ("awb", "kal16", "slt", "rms")
RATE = 16_000
# Three speakers are too few to learn what speakers differ in. So a sentence of training is
# played at a speed of its own, which moves pitch, formants and tempo (Ko et al. 2015, with more
# speeds than their three).
LEAST_SPEED, MOST_SPEED = 0.75, 1.35
SNR_DB = 15
LEVEL = 1000  # root mean square
# The usual ones of speech recognition.
HOP, WINDOW, FFT = 160, 400, 512  # 10 ms, 25 ms
BANDS = 40
STACKED = 3
FRAME_MS = 1000 * HOP * STACKED / RATE


class Spoken(NamedTuple):
    phones: list
    ends: list  # of the phones, in seconds
    frames: numpy.ndarray  # f32 [T, BANDS]: log-mel, not yet normalised


def check_voices():
    listed = _run("-lv").stdout.partition(":")[2].split()
    for voice in SPEAKERS:
        if voice not in listed:
            raise command.UsageError(
                f"{FLITE} -lv: lists {', '.join(listed) or 'no voice'}, not '{voice}', one of "
                f"the four of Debian's flite; reinstall it: apt-get install --reinstall flite")


def spoken(text, voice, is_changed, random, path):
    """The sentence spoken by the voice, with noise. `is_changed`: at a speed of its own.
    `path` is of a file for the time between.
    """
    told = _run("-voice", voice, "-t", text, "-psdur", "-o", path).stdout
    segments = [one.rpartition(":") for one in told.split()]
    samples = _samples(path)
    os.remove(path)
    phones = [phone for phone, _, _ in segments if phone != "pau"]
    ends = numpy.array([float(end) for phone, _, end in segments if phone != "pau"])
    if not phones or ends[-1] * RATE > len(samples):
        raise command.UsageError(
            f"{FLITE} -voice {voice} -t '{text}': made {len(samples) / RATE:g} s of sound for "
            f"phones '{told.strip()}'; is the disk of {os.path.dirname(path)} full?")
    if is_changed:
        speed = LEAST_SPEED * (MOST_SPEED / LEAST_SPEED) ** random.uniform()
        samples = numpy.interp(
            numpy.arange(0, len(samples) - 1, speed), numpy.arange(len(samples)), samples)
        ends = ends / speed
    # The speakers are not equally loud.
    samples *= LEVEL / samples.std()
    return Spoken(phones, ends.tolist(), log_mel(in_noise(samples, random)))


def _samples(path):
    """None of a file that is cut off in its header."""
    try:
        with wave.open(path) as file:
            return numpy.frombuffer(file.readframes(file.getnframes()), "<i2").astype(float)
    except (EOFError, wave.Error):
        return numpy.zeros(0)


def _run(*arguments):
    # In a session of its own Ctrl-C does not reach it, so that what it makes is whole.
    done = subprocess.run([FLITE, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, start_new_session=True)
    if done.returncode:
        said = " ".join(done.stderr.split()) or "nothing"
        raise command.UsageError(f"{' '.join([FLITE, *arguments])}: exit code "
                                 f"{done.returncode}, and on stderr {said}")
    return done


def in_noise(samples, random):
    """With pink noise, whose power is 1 / frequency, about as that of speech."""
    white = numpy.fft.rfft(random.normal(size=len(samples)))
    noise = numpy.fft.irfft(white / numpy.sqrt(numpy.arange(1, len(white) + 1)), len(samples))
    return samples + 10 ** (-SNR_DB / 20) * samples.std() / noise.std() * noise


def log_mel(samples):
    """f32 [T, BANDS] of samples at RATE:

        X[t, k] = sum over n < WINDOW of hann[n] samples[t HOP + n] exp(-2 pi i k n / FFT)
        log_mel[t, m] = log(1 + sum over k of triangle[m, k] |X[t, k]|^2),

    where the triangles have their feet on the tops of their neighbours, and the tops are evenly
    spaced in mel(f) = 2595 log10(1 + f / 700), from 0 to RATE / 2.
    """
    windows = numpy.lib.stride_tricks.sliding_window_view(samples, WINDOW)[::HOP]
    power = numpy.abs(numpy.fft.rfft(windows * numpy.hanning(WINDOW), FFT)) ** 2
    return numpy.log1p(power @ _TRIANGLES).astype(numpy.float32)


def _triangles():
    top_mel = 2595 * numpy.log10(1 + RATE / 2 / 700)
    tops = 700 * (10 ** (numpy.linspace(0, top_mel, BANDS + 2) / 2595) - 1)
    f = numpy.fft.rfftfreq(FFT, 1 / RATE)[:, None]
    rises = (f - tops[:-2]) / (tops[1:-1] - tops[:-2])
    falls = (tops[2:] - f) / (tops[2:] - tops[1:-1])
    return numpy.clip(numpy.minimum(rises, falls), 0, None)


_TRIANGLES = _triangles()


def entries(frames):
    """[T // STACKED, STACKED BANDS]: frames side by side, so that there are a few entries to a
    phone.
    """
    whole = len(frames) // STACKED
    return frames[:whole * STACKED].reshape(whole, -1)
