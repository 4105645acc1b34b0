import Foundation
import Testing

@testable import StoreBrowser

/// What a new pane costs, counted over the sources.
@Suite("Declarations")
struct DeclarationTests {
  /// The sources by file, without comments; a file and its `+` parts are one.
  private static let sources: [String: String] = {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources/StoreBrowser").path
    var sources: [String: String] = [:]
    let files = FileManager.default.enumerator(atPath: folder)
    while let file = files?.nextObject() as? String {
      guard file.hasSuffix(".swift"), let text = try? String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
      else {
        continue
      }
      let name = file.split(separator: "/").last.map(String.init) ?? file
      let stem = String(name.prefix { $0 != "+" && $0 != "." })
      sources[stem, default: ""] += text.split(separator: "\n")
        .filter { !$0.drop { $0 == " " }.hasPrefix("//") }.joined(separator: "\n")
    }
    return sources
  }()

  private static func files(naming names: [String]) -> [String] {
    sources.filter { _, text in
      let words = Set(text.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init))
      return !words.isDisjoint(with: names)
    }.map(\.key).sorted()
  }

  @Test(
    "a pane that stands by itself is its file, that of its question, and its row in the pane table",
    arguments: [
      ["FrequencyPane", "FrequencyRequest"], ["PickaxePane", "PickaxeRequest"], ["DescribePane", "DescribeRequest"],
      ["PlotPane", "PlotRequest"], ["RemotesPane", "RemotesRequest"], ["DifferencePane", "ChangesRequest"],
      ["BulkOverlay", "BulkRequest"], ["ImportOverlay", "ImportRequest"], ["CompactOverlay"],
    ])
  func panes(names: [String]) {
    let files = Self.files(naming: names)
    #expect(files.count <= 3 && files.contains("PaneTable") && files.contains(names[0]), "\(files)")
  }

  @Test("a question is declared with its answer, and no list of all questions or replies stands anywhere")
  func questions() throws {
    let declaration = try Regex<(Substring, Substring)>(
      "(?:struct|enum) (\\w+): Question\\b", as: (Substring, Substring).self)
    let questions = Self.sources.flatMap { file, text in
      text.matches(of: declaration).map { (file, String($0.output.1)) }
    }
    #expect(questions.count > 50)
    for (file, question) in questions {
      let after = Self.sources[file]?.split(separator: "\(question): Question", maxSplits: 1).last
      #expect(after?.contains("func reply(in context: WorkContext)") == true, "\(question)")
    }
    for (file, text) in Self.sources {
      let started = questions.count { text.contains("\($0.1)(") && $0.0 != file }
      #expect(started <= questions.count / 2, "\(file) knows \(started) questions")
    }
  }
}
