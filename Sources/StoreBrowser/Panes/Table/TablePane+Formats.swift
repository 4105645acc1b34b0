import Documents
import DatastoreModel
import TerminalKit

/// The formats of columns.
extension TablePane {
  /// Returns a value in the format chosen for its column. A number that is too wide in that format is written unchanged.
  func formatted(
    _ value: ValueText, of column: TableColumn, width: Int, leadingTo target: ReferenceTarget?, _ session: Session
  ) -> ValueText {
    if let target { return Self.text(value, leadingTo: target, session) }
    guard let datastore = source?.datastore, let formats = session.remembered.columns[datastore]?.formats,
      let path = path(of: column, session), let format = formats[path].flatMap(ValueFormat.init(rawValue:))
    else { return value }
    let text = format.text(value, isASCII: session.theme.isASCII)
    return text.kind == .number && SafeText.width(text.text) > width ? value : text
  }

  /// Returns `JP → Japan`, or `→ Japan` for an entity, whose identifier has no meaning. A dangling reference is marked.
  private static func text(_ value: ValueText, leadingTo target: ReferenceTarget, _ session: Session) -> ValueText {
    var text = value
    let isEntity = session.outline?.datastore(target.datastore)?.descriptor.keepsEntities == true
    if let label = target.label {
      text.text = "\(isEntity ? "" : value.text + " ")\(session.theme.arrow) \(label)"
    } else if !target.isThere {
      text.text = "\(value.text) \(session.theme.problemSign)"
    }
    text.kind = .string
    return text
  }

  private func path(of column: TableColumn, _ session: Session) -> String? {
    switch column.source {
    case .field(let path): path
    case .identifier: columns.identifierPath
    case .key: session.current?.index(source?.index)?.descriptor.documentPath?.description
    }
  }
}

extension Browser {
  /// `gf`: a menu, or a format by its name.
  mutating func chooseFormat(_ argument: String?) {
    guard let path = table.selectedPath(session) else { return session.warn("choose a column first") }
    if let argument, !argument.trimmed.isEmpty {
      guard let format = ValueFormat(rawValue: argument.trimmed) else {
        let names = ValueFormat.allCases.map(\.rawValue).joined(separator: ", ")
        return session.warn("“\(argument)” is no format; there are \(names)")
      }
      if format == .label, !leadsSomewhere(path) {
        return session.warn("\(path) leads nowhere; :reference says where a field leads")
      }
      return setFormat(format, of: path)
    }
    let leads = leadsSomewhere(path)
    let items = ValueFormat.allCases.filter { $0 != .label || leads }.map { format in
      MenuOverlay.Item(title: format.rawValue, detail: format.title, choice: Intent { $0.setFormat(format, of: path) })
    }
    present(MenuOverlay(title: "Values of \(path)", items: items))
  }

  private func leadsSomewhere(_ path: String) -> Bool {
    guard let descriptor = session.current?.descriptor, let path = try? DocumentPath(parsing: path) else {
      return false
    }
    return session.naming.fields(of: descriptor).target(of: path) != nil
  }

  mutating func setFormat(_ format: ValueFormat, of path: String) {
    guard let datastore = table.source?.datastore else { return }
    var choice = session.columnChoice(datastore)
    choice.formats = (choice.formats ?? [:]).merging([path: format.rawValue]) { $1 }
    if format == .plain { choice.formats?[path] = nil }
    session.remembered.columns[datastore] = choice
    session.intend(.remember)
    session.say("\(path): \(format.title)")
  }
}

extension CommandTable {
  static let formats: [CommandEntry] = [
    row(
      .format, ["g f"], "how the column's values are written", "format", .table,
      argument: .init("FORMAT", isRequired: false),
      "Chooses how the values of the column are written: plain, thousands, bytes, dateFromSeconds, "
        + "dateFromMilliseconds, duration, hex, check; `label` where the field leads to another record: `JP → Japan`. "
        + "Remembered per store.", in: [.table]
    ) { browser, argument in browser.chooseFormat(argument) }
  ]
}

extension Command {
  package static let format: Command = "format"
}
