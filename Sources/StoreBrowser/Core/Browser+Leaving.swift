import Documents
import DatastoreModel
import TerminalKit

/// What becomes of a store in memory when a person leaves: never anything that was not chosen.
enum Leaving: Sendable, Hashable {
  case asStore(path: String)
  case intoFile
  case withoutSaving
}

extension Browser {
  /// What is asked before a store in memory that was changed is let go; nil where nothing would be lost.
  func leavingMenu() -> MenuOverlay? {
    guard let file = session.configuration.documentFile else { return nil }
    let commits = session.head.rawValue - min(session.head.rawValue, file.report.commit?.rawValue ?? 0)
    let staged = session.staged.count
    guard commits > 0 || staged > 0 else { return nil }
    let name = file.path.split(separator: "/").last.map(String.init) ?? file.path
    var what: [String] = []
    if commits > 0 { what.append(NumberFormat.counted(commits, "commit")) }
    if staged > 0 {
      what.append("\(NumberFormat.counted(staged, "staged change")) that only staying keeps")
    }
    let store = Self.storePath(for: file.path)
    return MenuOverlay(
      title: "\(name) is open in memory: \(what.joined(separator: ", "))",
      items: [
        .init(title: "stay", detail: "", choice: .nothing),
        .init(title: "save as a store", detail: store, choice: .leave(.asStore(path: store))),
        .init(title: "write the file anew", detail: name, choice: .leave(.intoFile)),
        .init(title: "leave without saving", detail: "", choice: .leave(.withoutSaving)),
      ])
  }

  /// What a file was read as.
  mutating func tell(of file: DocumentFile) {
    let report = file.report
    if let rejection = report.rejections.first {
      session.warn("\(NumberFormat.counted(report.rejected, "row")) left out, the first: \(rejection)")
    } else if let column = file.columns.first(where: { $0.exceptions != nil }), let others = column.exceptions {
      let first = others.first.first.map { ": \($0.place) “\($0.text)”" } ?? ""
      session.warn(
        "\(column.path.shortText) is text: \(NumberFormat.count(others.others)) of \(NumberFormat.counted(others.cells, "cell")) "
          + "\(others.others == 1 ? "is" : "are") no \(others.type)\(first)")
    } else {
      let identifier = file.isNumbered ? "rows are numbered" : "by \(file.identifier.shortText)"
      session.say("in memory, \(identifier); the file stays as it is · I gp 5 as in a store")
    }
  }

  /// `cities.csv` becomes `cities.strata`.
  private static func storePath(for path: String) -> String {
    let end = path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex
    guard let point = path[end...].lastIndex(of: "."), point > end else { return path + ".strata" }
    return path[..<point] + ".strata"
  }

  mutating func leave(_ how: Leaving) {
    guard let file = session.configuration.documentFile else { return }
    switch how {
    case .withoutSaving: session.emit(.quit(status: 0, farewell: nil))
    case .asStore(let path):
      session.start(.leave, .ask(LeaveRequest(file: file, how: how)), label: "saving as \(path)")
    case .intoFile: session.start(.leave, .ask(LeaveRequest(file: file, how: how)), label: "writing \(file.path)")
    }
  }

  mutating func hasLeft(_ reply: LeaveReply) {
    session.left = reply.farewell
    session.emit(.quit(status: 0, farewell: reply.farewell))
  }
}

/// Keeps what a store in memory holds.
struct LeaveRequest: Question {
  var file: DocumentFile
  var how: Leaving

  func reply(in context: WorkContext) throws(ModelError) -> LeaveReply {
    switch how {
    case .withoutSaving: return LeaveReply(farewell: nil)
    case .asStore(let path):
      let report = try context.editable().copy(to: path, at: nil) { done, total in
        context.report(Progress(done: done, total: total))
        return !context.cancellation.isCancelled
      }
      return LeaveReply(farewell: "saved as \(path), \(NumberFormat.counted(report.commitsKept, "commit"))")
    case .intoFile:
      let output = try context.files.create(file.path)
      do {
        try file.write(context.store.head) { bytes in
          try context.goOn()
          _ = try output.write(bytes)
        }
        try output.close()
      } catch {
        output.discard()
        throw error as? ModelError ?? .storage("\(error)", kind: .failed)
      }
      return LeaveReply(farewell: "\(file.path) was written anew")
    }
  }
}

struct LeaveReply: Sendable {
  var farewell: String?
}

extension WorkSlot {
  static let leave = WorkSlot("leave", isLong: true, isKept: true, isInCockpit: true)
}
