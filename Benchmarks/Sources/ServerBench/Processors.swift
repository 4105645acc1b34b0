import CStrataLibPQ
import Foundation
import Measuring

/// Seconds that some work took: by the clock, and of the processors, here and in the server.
struct Spent {
  var wall: Double
  var client: Double
  var server: Double

  func each(of count: Int) -> Spent {
    Spent(wall: wall / Double(count), client: client / Double(count), server: server / Double(count))
  }
}

/// Tells what processor time this process and its server have taken. The server is on this machine.
final class Processors {
  private let connection: OpaquePointer

  init(_ url: String) throws {
    guard let opened = PQconnectdb(url), PQstatus(opened) == CONNECTION_OK else {
      throw BenchError(description: "no connection to \(url)")
    }
    connection = opened
  }

  deinit { PQfinish(connection) }

  func measure(_ body: () async throws -> Void) async throws -> Spent {
    let (client, server) = (ownTime, serverTimes())
    let wall = try await ContinuousClock().measure(body) / .seconds(1)
    let end = ownTime
    // Processes that have begun meanwhile began with nothing.
    let spent = serverTimes().reduce(0) { $0 + $1.value - (server[$1.key] ?? 0) }
    return Spent(wall: wall, client: end - client, server: spent)
  }

  private var ownTime: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// The seconds of each of the server's processes that serve clients, but for the one that is asked.
  private func serverTimes() -> [String: Double] {
    let result = PQexec(
      connection,
      "select pid::text from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()")
    defer { PQclear(result) }
    var times: [String: Double] = [:]
    for row in 0..<PQntuples(result) {
      let process = String(cString: PQgetvalue(result, row, 0))
      guard let text = try? String(contentsOfFile: "/proc/\(process)/schedstat", encoding: .utf8),
        let first = text.split(separator: " ").first, let nanoseconds = Double(first)
      else { continue }
      times[process] = nanoseconds / 1e9
    }
    return times
  }
}
