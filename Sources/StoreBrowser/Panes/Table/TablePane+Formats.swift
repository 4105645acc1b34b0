import Documents
import DatastoreModel
import TerminalKit

/// How the values of columns are written.
extension TablePane {
  /// A value in the format that was chosen for its column. A number that is too wide in it is written as it is.
  func formatted(_ value: ValueText, of column: TableColumn, width: Int, _ session: Session) -> ValueText {
    guard let datastore = source?.datastore, let formats = session.remembered.columns[datastore]?.formats,
      let path = path(of: column, session), let format = formats[path].flatMap(ValueFormat.init(rawValue:))
    else { return value }
    let text = format.text(value, isASCII: session.theme.isASCII)
    return text.kind == .number && SafeText.width(text.text) > width ? value : text
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
      return setFormat(format, of: path)
    }
    let items = ValueFormat.allCases.map { format in
      MenuOverlay.Item(title: format.rawValue, detail: format.title, choice: .format(format, path: path))
    }
    present(MenuOverlay(title: "Values of \(path)", items: items))
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
        + "dateFromMilliseconds, duration, hex, check. Remembered per store.", in: [.table]
    ) { browser, argument in browser.chooseFormat(argument) }
  ]
}

extension Command {
  package static let format: Command = "format"
}
