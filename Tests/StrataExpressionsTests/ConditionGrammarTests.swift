import StrataExpressions
import Testing

@Suite("The language of conditions as a page")
struct ConditionGrammarTests {
  @Test("every form's example parses, and every word of the language stands in it")
  func examples() throws {
    for form in ConditionGrammar.forms { _ = try Filter(parsing: form.example) }
    let page = ConditionGrammar.forms.map { $0.spelling + " " + $0.meaning + " " + $0.example }.joined(separator: "\n")
    for word in [
      "=", "!=", "<", "<=", ">", ">=", "^=", "$=", "*=", "~ /", "=~", "in (", "not in", "has", "is null", "is not null",
      "between", "contains", "starts with", "ends with", "like", "not", "and", "or", "true", "false", "null",
    ] { #expect(page.contains(word), "\(word)") }
  }
}
