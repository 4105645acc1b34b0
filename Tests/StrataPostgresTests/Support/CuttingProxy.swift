import Foundation

/// Stands between a client and a server, and cuts the connection after so many bytes, in one of the two directions.
final class CuttingProxy: Sendable {
  /// Where a client finds it: a folder with the socket of the server's port.
  let folder: String
  private let listener: Int32
  private let target: String
  private let cut = Box<Cut?>(nil)
  private let cuts = Box(0)

  struct Cut: Sendable {
    var isToServer: Bool
    var bytes: Int
  }

  /// How many connections were cut.
  var cutCount: Int { cuts.value }

  init?(to server: TestServer) {
    folder = server.folder + "-proxy-\(UInt32.random(in: 0 ... .max))"
    target = "\(server.folder)/.s.PGSQL.\(server.port)"
    try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    listener = socket(AF_UNIX, Self.stream, 0)
    guard Self.withAddress("\(folder)/.s.PGSQL.\(server.port)", { bind(listener, $0, $1) }) == 0,
      listen(listener, 64) == 0
    else { return nil }
    Thread.detachNewThread { [self] in accepting() }
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// Stops accepting and takes the socket away.
  func close() {
    shutdown(listener, Int32(SHUT_RDWR))
    Foundation.close(listener)
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// Cuts the connection that sends the next bytes in a direction, after so many of them.
  func arm(_ new: Cut) { cut.change { $0 = new } }

  private func accepting() {
    while true {
      let client = accept(listener, nil, nil)
      guard client >= 0 else { return }
      let server = socket(AF_UNIX, Self.stream, 0)
      // A program that another test starts would keep open what is cut here.
      for descriptor in [client, server] { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
      guard Self.withAddress(target, { connect(server, $0, $1) }) == 0 else {
        Foundation.close(client)
        Foundation.close(server)
        continue
      }
      Thread.detachNewThread { [self] in
        pass(client, server)
        Foundation.close(client)
        Foundation.close(server)
      }
    }
  }

  private func pass(_ client: Int32, _ server: Int32) {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      var polls = [
        pollfd(fd: client, events: Int16(POLLIN), revents: 0), pollfd(fd: server, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&polls, 2, -1) > 0 else { return }
      for (place, isToServer) in [(0, true), (1, false)] where polls[place].revents != 0 {
        let count = read(polls[place].fd, &buffer, buffer.count)
        guard count > 0 else { return }
        var passed = count
        var isOver = false
        cut.change { cut in
          guard var armed = cut, armed.isToServer == isToServer else { return }
          passed = min(count, armed.bytes)
          armed.bytes -= passed
          isOver = passed < count || armed.bytes == 0
          cut = isOver ? nil : armed
        }
        var sent = 0
        while sent < passed {
          let count = buffer.withUnsafeBytes {
            write(isToServer ? server : client, $0.baseAddress.map { $0 + sent }, passed - sent)
          }
          guard count > 0 else { return }
          sent += count
        }
        if isOver {
          cuts.change { $0 += 1 }
          return
        }
      }
    }
  }

  #if canImport(Glibc)
    private static let stream = Int32(SOCK_STREAM.rawValue)
  #else
    private static let stream = SOCK_STREAM
  #endif

  private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { space in
      for (place, byte) in path.utf8.prefix(space.count - 1).enumerated() { space[place] = byte }
    }
    return withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}
