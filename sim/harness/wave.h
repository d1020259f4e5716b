// The output of waves, into a descriptor that sim/native.py opens, puts in its place and closes.
// Compiled with WAVE_FST or WAVE_VCD for a build with waves.
//
// If a write fails, Verilator's writers end the process, at once (VCD) or only at the end (FST). So
// they write through a WaveFile, which never fails. After the first error a WaveFile accepts all
// bytes and drops them. The simulation asks for the error and stops by itself.

#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ios>
#include <streambuf>
#include <string>

#include <unistd.h>

#if defined(WAVE_FST)
#include "verilated_fst_c.h"
#include "fstcpp/fstcpp_writer.h"
#elif defined(WAVE_VCD)
#include "verilated_vcd_c.h"
#endif

#if defined(WAVE_FST)

/// A file that is written at any position, for FST files, whose header is written last.
class WaveFile : public std::streambuf {
public:
    explicit WaveFile(int descriptor) : m_descriptor{descriptor} {
        setp(m_buffer, m_buffer + sizeof m_buffer);
    }

    /// errno of the first write that failed, or 0.
    int error() const { return m_error; }

protected:
    int overflow(int byte) override {
        sync();
        if (byte != traits_type::eof()) sputc(static_cast<char>(byte));
        return traits_type::not_eof(byte);
    }

    int sync() override {
        const char* from = pbase();
        while (from != pptr() && !m_error) {
            const ssize_t count = ::pwrite(m_descriptor, from, pptr() - from, m_place);
            if (count < 0) m_error = errno;
            else from += count, m_place += count;
        }
        m_place += pptr() - from;
        if (m_end < m_place) m_end = m_place;
        setp(m_buffer, m_buffer + sizeof m_buffer);
        return 0;
    }

    pos_type seekoff(off_type offset, std::ios_base::seekdir from,
                     std::ios_base::openmode) override {
        if (offset == 0 && from == std::ios_base::cur) return m_place + (pptr() - pbase());
        sync();
        m_place = offset + (from == std::ios_base::beg ? 0 :
                            from == std::ios_base::cur ? m_place : m_end);
        return m_place;
    }

    pos_type seekpos(pos_type place, std::ios_base::openmode which) override {
        return seekoff(place, std::ios_base::beg, which);
    }

private:
    const int m_descriptor;
    int m_error = 0;
    off_type m_place = 0, m_end = 0;    // of the buffer's first byte; of the file
    char m_buffer[1 << 16];
};

/// Access to a private member. Access is not checked where a template is instantiated explicitly.
/// The pinned Verilator has no other way to its FST writer's stream.
template <typename Tag, auto member>
struct Inside {
    friend auto inside(Tag) { return member; }
};
struct WriterOf { friend auto inside(WriterOf); };
struct StreamOf { friend auto inside(StreamOf); };
template struct Inside<WriterOf, &VerilatedFst::m_fst>;
template struct Inside<StreamOf, &fst::Writer::m_main_fst_file_>;

#elif defined(WAVE_VCD)

/// A file that is written from its beginning to its end.
class WaveFile : public VerilatedVcdFile {
public:
    explicit WaveFile(int descriptor) : m_descriptor{descriptor} {}

    /// errno of the first write that failed, or 0.
    int error() const { return m_error; }

    bool open(const std::string&) override { return true; }
    void close() override {}
    ssize_t write(const char* bytes, ssize_t count) override {
        ssize_t written = 0;
        while (written < count && !m_error) {
            const ssize_t more = ::write(m_descriptor, bytes + written, count - written);
            if (more < 0) m_error = errno;
            else written += more;
        }
        return count;
    }

private:
    const int m_descriptor;
    int m_error = 0;
};

#endif

#if defined(WAVE_FST) || defined(WAVE_VCD)
#define WAVES 1

/// A wave that is being written.
class Wave {
public:
#if defined(WAVE_FST)
    using Writer = VerilatedFstC;
#else
    using Writer = VerilatedVcdC;
#endif

    /// `trace(writer)` has the models tell the writer their signals.
    template <typename F>
    Wave(int descriptor, F trace) : m_file{descriptor} {
        trace(&m_writer);
#if defined(WAVE_FST)
        m_writer.open("/dev/null");
        auto& stream = m_writer.spTrace()->*inside(WriterOf{})->*inside(StreamOf{});
        static_cast<std::ios&>(stream).rdbuf(&m_file);
        stream.seekp(fst::kSharedBlockHeaderSize + fst::HeaderInfo::total_size);
#else
        m_writer.open("wave");
#endif
    }

    void dump(std::uint64_t time) { m_writer.dump(time); }
    void flush() { m_writer.flush(); }

    /// Ends the file. Returns its error().
    int close() {
        m_writer.close();
#if defined(WAVE_FST)
        m_file.pubsync();
#endif
        return error();
    }

    /// errno of the first write that failed, or 0.
    int error() const { return m_file.error(); }

private:
    WaveFile m_file;        // before the writer, which uses it until its end
#if defined(WAVE_FST)
    Writer m_writer;
#else
    Writer m_writer{&m_file};
#endif
};

#else
#define WAVES 0
#endif
