import Foundation
import Testing

@Suite("Verbs that ask by a condition")
struct QueryVerbTests {
  /// 300 towns with an index over their population and one over their country.
  private func towns(_ folder: TemporaryFolder) throws -> String {
    let path = folder.path("Towns.strata")
    let lines = (0..<300).map { id in
      "{\"id\": \(id), \"name\": \"Town \(id)\", \"population\": \(id * 7 % 300), \"countrycode\": \"\(["CH", "FR", "IT"][id % 3])\"}"
    }
    let file = try folder.file("towns.jsonl", lines.joined(separator: "\n"))
    let run = try ProgramRun([
      "import", path, "Town", file, "--id", "id", "--index", "size=population", "--index", "country=countrycode",
    ])
    #expect(run.status == 0, "\(run.complaint)")
    return path
  }

  private func ids(_ arguments: [String]) throws -> [Int] {
    try ProgramRun(arguments + ["--json"]).objects.compactMap { $0["id"] as? Int }
  }

  @Test("the answer is a loop's, by identifier or sorted, whole or in pages")
  func answers() throws {
    let folder = try TemporaryFolder()
    let path = try towns(folder)
    let records = ["records", path, "Town", "--where"]
    let large = (0..<300).filter { $0 * 7 % 300 > 250 }
    #expect(try ids(records + ["population > 250"]) == large)
    #expect(try ids(records + ["size > 250"]) == large, "by the index's name")
    let both = large.filter { $0 % 3 == 0 }
    #expect(try ids(records + ["population > 250 and countrycode = \"CH\""]) == both)
    let descending = large.sorted { $0 * 7 % 300 > $1 * 7 % 300 }
    let sorted = records + ["population > 250", "--sort", "population:desc"]
    #expect(try ids(sorted) == descending)
    #expect(try ids(sorted + ["--limit", "5", "--offset", "3"]) == Array(descending.dropFirst(3).prefix(5)))
    #expect(try ProgramRun(records + ["population > 250", "--count"]).lines == ["\(large.count)"])
    let named = large.sorted { ($0 % 3, -$0) < ($1 % 3, -$1) }
    #expect(try ids(records + ["population > 250", "--sort", "countrycode", "--sort", "id:desc"]) == named)

    let page = try ProgramRun(sorted + ["--limit", "5", "--json"])
    let cursor = try #require(page.complaint.split(separator: " ").last.map { $0.trimmingCharacters(in: .newlines) })
    #expect(try ids(sorted + ["--after", cursor]) == Array(descending.dropFirst(5)))
    #expect(try ProgramRun(records + ["population > 9", "--after", cursor]).status == 1)
    #expect(try ProgramRun(records + ["population > 9", "--after", "x"]).status == 2)
  }

  @Test("a plan's first word says how the records are found")
  func plans() throws {
    let folder = try TemporaryFolder()
    let path = try towns(folder)
    func plan(_ condition: String) throws -> String {
      try ProgramRun(["records", path, "Town", "--where", condition, "--explain"]).lines.first ?? ""
    }
    #expect(try plan("population > 290") == "INDEX size 290 ..> 9 entries · SORT identifiers")
    #expect(try plan("population > 290 or countrycode = \"CH\"").hasPrefix("UNION ("))
    #expect(try plan("name = \"Town 3\"") == "SCAN 300 records · KEEP name = \"Town 3\" · SORT no")
    #expect(try plan("population > 290 and name = \"Town 3\"").contains("KEEP"))
  }

  @Test("an unknown name is a warning with the nearest names, status 0")
  func unknownNames() throws {
    let folder = try TemporaryFolder()
    let path = try towns(folder)
    let run = try ProgramRun(["records", path, "Town", "--where", "countrycod = \"CH\""])
    #expect(run.status == 0)
    #expect(run.lines.isEmpty)
    #expect(run.complaint.contains("no field countrycod; did you mean countrycode"))
  }

  @Test("two unknown names are refused, and for a delete one beside a field, because a text may be meant")
  func unquotedTexts() throws {
    let folder = try TemporaryFolder()
    let path = try towns(folder)
    let both = try ProgramRun(["records", path, "Town", "--where", "country_code = CH"])
    #expect(both.status == 1 && both.lines.isEmpty)
    #expect(both.complaint.contains("records have no field country_code; did you mean countrycode"))
    #expect(both.complaint.contains("A text is written in quotes: \"CH\""))
    let far = try ProgramRun(["records", path, "Town", "--where", "Qqqqqqqqq = Zzzzzzzzz"])
    #expect(far.complaint.contains("no field Qqqqqqqqq. A text is written in quotes"), "\(far.complaint)")
    let other = ["Town", "--where", "countrycode != CH"]
    #expect(try ProgramRun(["delete", path] + other).status == 1)
    #expect(try ProgramRun(["records", path] + other + ["--count"]).lines == ["300"])
    #expect(try ProgramRun(["delete", path, "Town", "--where", "population = name"]).status == 1)
  }

  @Test("between bounds and along an index a condition is read as without them")
  func unknownNamesBetweenBounds() throws {
    let folder = try TemporaryFolder()
    let path = try towns(folder)
    for bounds in [["--from", "290"], ["--index", "size"]] {
      let records = ["records", path, "Town"] + bounds
      let refused = try ProgramRun(records + ["--where", "nme = Bern"])
      #expect(refused.status == 1 && refused.lines.isEmpty && refused.complaint.contains("nme"), "\(refused.complaint)")
      let warned = try ProgramRun(records + ["--where", "nme = \"Bern\""])
      #expect(warned.status == 0 && warned.complaint.contains("did you mean name?"), "\(warned.complaint)")
      #expect(try ids(records + ["--where", "name = \"Town 295\""]) == [295])
    }
  }

  @Test("groups are sorted by a column whose name has a colon, a comma or blanks")
  func groupsOfOddNames() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("Odd.strata")
    let lines = #"{"id":1,"a:b":1,"x, y":1,"Order ID":1}"# + "\n" + #"{"id":2,"a:b":2,"x, y":2,"Order ID":2}"#
    #expect(try ProgramRun(["import", path, "T", folder.file("odd.jsonl", lines), "--id", "id"]).status == 0)
    for name in [#""a:b""#, #""x, y""#, "Order ID"] {
      for direction in ["", ":desc", " asc", " desc"] {
        let run = try ProgramRun(["records", path, "T", "--distinct", name, "--sort", name + direction])
        #expect(run.lines == (direction.hasSuffix("desc") ? ["2", "1"] : ["1", "2"]), "\(run.complaint)")
      }
    }
  }

  @Test("a name with spaces is a field to sort by, among others and with a direction")
  func namesWithSpaces() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("Orders.strata")
    let file = try folder.file("orders.csv", "Order ID,2024,name\n7,1,a\n5,2,b\n6,2,c\n")
    #expect(try ProgramRun(["import", path, "Order", file]).status == 0)
    func names(_ sort: String) throws -> [String] {
      try ProgramRun(["records", path, "Order", "--sort", sort, "--json"]).lines.map { String($0.suffix(4).prefix(1)) }
    }
    #expect(try names("2024,Order ID desc") == ["a", "c", "b"])
    #expect(try names("Order ID:desc, 2024") == ["a", "c", "b"])
    #expect(try names("Order ID") == ["b", "c", "a"])
    #expect(try ProgramRun(["records", path, "Order", "--sort", "Order Id"]).status == 2)
  }

  @Test("export and delete take the same condition")
  func others() throws {
    let folder = try TemporaryFolder()
    let path = try towns(folder)
    #expect(try ProgramRun(["export", path, "Town", "--where", "population < 10"]).lines.count == 10)
    #expect(try ProgramRun(["delete", path, "Town", "--where", "population < 10"]).status == 0)
    #expect(try ids(["records", path, "Town", "--where", "population < 12"]).count == 2)
    #expect(try ProgramRun(["verify", path]).status == 0)
    #expect(try ProgramRun(["delete", path, "Town", "--where", "population < 10"]).status == 1)
    #expect(try ProgramRun(["delete", path, "Town"]).status == 2)
    #expect(try ProgramRun(["delete", path, "Town", "1", "--where", "population < 10"]).status == 2)
  }

  @Test("what makes no sense is told with its column, and nothing is done")
  func badInput() throws {
    let folder = try TemporaryFolder()
    let path = try towns(folder)
    let records = ["records", path, "Town"]
    let unreadable = try ProgramRun(records + ["--where", "population >"])
    #expect(unreadable.status == 2)
    #expect(unreadable.complaint.contains("column 13"))
    #expect(try ProgramRun(records + ["--limit", "0"]).status == 2)
    #expect(try ProgramRun(records + ["--offset", "-1"]).status == 2)
    #expect(try ProgramRun(records + ["--sort", "a..b"]).status == 2)
    #expect(try ProgramRun(records + ["--index", "size", "--sort", "name"]).status == 2)
    #expect(try ProgramRun(["export", path, "--where", "population < 10"]).status == 2)
  }
}
