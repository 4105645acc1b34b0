import StrataDocuments
import StrataEngine
import StrataModel

/// All that changes in a store that is browsed over a line, as one line says it.
struct BrowsedState: Hashable, Sendable {
  var settled: DurableEnd
  /// Why it takes no changes from the line.
  var refusal: String?
  /// The other process that writes there.
  var writer: WriterHold?
  var activity: [UInt8]?

  private static let mostBytes: UInt64 = 1 << 60

  init(_ store: EngineStore, _ settled: DurableEnd, isReadOnly: Bool) {
    self.settled = settled
    if isReadOnly {
      refusal = "it is served for reading only"
    } else if case .readOnly(let reason) = store.access {
      refusal = reason
    }
    writer = store.writer
    activity = store.activity?.bytes
  }

  var members: [Document.Member] {
    var members: [Document.Member] = [
      .init("state", .number(NumberText(settled.generation))), .init("file", .number(NumberText(settled.file.inode))),
      .init("end", .number(NumberText(settled.end))),
    ]
    if let refusal { members.append(.init("refusal", .string(refusal))) }
    if let writer {
      members += [
        .init("process", .number(NumberText(writer.processIdentifier))), .init("program", .string(writer.program)),
        .init("since", .number(NumberText(writer.since))),
      ]
    }
    if let activity { members.append(.init("activity", .string(Base64.text(of: activity)))) }
    return members
  }

  /// - Parameter connection: Distinguishes the files of one connection from those of an earlier one.
  init?(_ line: StreamLine, connection: UInt64) {
    guard let generation = line.number("state"), let file = line.number("file"), let end = line.number("end"),
      end < Self.mostBytes
    else { return nil }
    settled = DurableEnd(file: FileIdentity(device: connection, inode: file), generation: generation, end: end)
    refusal = line.text("refusal")
    activity = line.base64("activity")
    writer = line.text("program").map { program in
      WriterHold(
        processIdentifier: Int32(clamping: line.number("process") ?? 0), program: program,
        since: Int64(clamping: line.number("since") ?? 0))
    }
  }
}
