import Glibc

/// Bytes of memory that are this process's own (`RssAnon` of `proc(5)`); pages of mapped files are not.
package func anonymousMemory() -> UInt64 {
  guard let stream = fopen("/proc/self/status", "r") else { return 0 }
  defer { fclose(stream) }
  var line = [CChar](repeating: 0, count: 256)
  while fgets(&line, Int32(line.count), stream) != nil {
    let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard text.hasPrefix("RssAnon:") else { continue }
    return (text.split { $0 == " " || $0 == "\t" }.compactMap { UInt64($0) }.first ?? 0) * 1024
  }
  return 0
}

/// Has the thread sleep.
package func pause(milliseconds: Int) { usleep(UInt32(milliseconds) * 1000) }
