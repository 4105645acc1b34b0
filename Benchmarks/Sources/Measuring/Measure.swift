import Glibc

/// Seconds since some fixed moment.
package func seconds() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Seconds that the process has had a processor for, on all threads: what others do on the machine hardly counts.
package func processorSeconds() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// The seconds that some work takes.
package func time(_ work: () throws -> Void) rethrows -> Double {
  let start = seconds()
  try work()
  return seconds() - start
}

/// Minimum, median and maximum of several rounds.
package struct Spread {
  package var values: [Double]

  package init(_ values: [Double]) { self.values = values.sorted() }

  package var minimum: Double { values.first ?? .nan }
  package var median: Double { values.isEmpty ? .nan : values[values.count / 2] }
  package var maximum: Double { values.last ?? .nan }

  /// The value below which a part of all values lies.
  package func quantile(_ part: Double) -> Double {
    values.isEmpty ? .nan : values[min(values.count - 1, Int(Double(values.count) * part))]
  }
}

/// One row of the results: what was done, our time, the other's, and the ratio round by round.
package struct Row {
  package var work: String
  package var rival: String
  /// Seconds for one unit of work, ours and the rival's, by round.
  package var ours: [Double]
  package var theirs: [Double]
  /// What the design asks for.
  package var goal: String

  package init(work: String, rival: String, ours: [Double], theirs: [Double], goal: String) {
    self.work = work
    self.rival = rival
    self.ours = ours
    self.theirs = theirs
    self.goal = goal
  }

  /// How many times faster we are, by round.
  package var ratios: Spread { Spread(zip(ours, theirs).map { $1 / $0 }) }

  package var markdown: String {
    let ratios = ratios
    return "| \(work) | \(rival) | \(duration(Spread(ours).median)) | \(duration(Spread(theirs).median)) | "
      + "**\(fixed(ratios.median))×** (\(fixed(ratios.minimum))–\(fixed(ratios.maximum))) | \(goal) |"
  }
}

/// A number with two digits after the point.
package func fixed(_ number: Double, digits: Int = 2) -> String {
  guard number.isFinite else { return "–" }
  var scale = 1.0
  for _ in 0..<digits { scale *= 10 }
  let scaled = (number.magnitude * scale).rounded()
  let whole = (number < 0 && scaled > 0 ? "-" : "") + String(Int(scaled / scale))
  let part = String(Int(scaled.truncatingRemainder(dividingBy: scale)))
  return digits == 0 ? whole : "\(whole).\(String(repeating: "0", count: digits - part.count))\(part)"
}

/// A span of time with a fitting unit.
package func duration(_ seconds: Double) -> String {
  switch seconds {
  case ..<1e-6: "\(fixed(seconds * 1e9, digits: 0)) ns"
  case ..<1e-3: "\(fixed(seconds * 1e6)) µs"
  case ..<1: "\(fixed(seconds * 1e3)) ms"
  default: "\(fixed(seconds)) s"
  }
}
