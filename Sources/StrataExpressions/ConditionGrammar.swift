/// The language of conditions as one page: the manual, the browser's help and its prompts show these rows.
package enum ConditionGrammar {
  /// One form: its spelling, an example to type, and the records that it keeps.
  package struct Form: Sendable, Hashable {
    package var spelling: String
    package var example: String
    package var meaning: String
  }

  package static let introduction = """
    A condition is asked of each record, by the paths of its fields or by the names of indexes. A path that leads nowhere is \
    null; through a list of objects it leads to the values of all of them, and one that fits is enough.
    """

  package static let forms: [Form] = [
    Form(
      spelling: "PATH", example: "dims.w > 3 and authors[0] = \"Lem\" and .\"odd name\" is null",
      meaning: "A field, one within it, an element of a list, a name that is not a word. Alone it keeps what is true."),
    Form(
      spelling: "= != < <= > >=", example: "population > 1000000",
      meaning: "Numbers compare by their exact value, texts by Unicode, dates by time; what cannot be compared is not "
        + "equal and in no order."),
    Form(
      spelling: "between A and B", example: "population between 1000 and 2000",
      meaning: "From A to B, both included, as = A ... B; without B: = A .. B."),
    Form(spelling: "in (A, B, …)", example: "country in (\"CH\", \"FR\")", meaning: "One of them; not in is none."),
    Form(
      spelling: "starts with, ^=", example: "name starts with \"San\"",
      meaning: "The text begins so. An index answers it."),
    Form(spelling: "ends with, $=", example: "name ends with \"burg\"", meaning: "The text ends so."),
    Form(spelling: "contains, *=", example: "name contains \"ville\"", meaning: "The text has this in it."),
    Form(
      spelling: "like", example: "name like \"San%\"",
      meaning: "The whole text, where % is any text and _ one character."),
    Form(
      spelling: "~ /RE/, =~ /RE/", example: "name =~ /^saint/",
      meaning: "A regular expression matches; with =~, or i behind the second slash, in either case."),
    Form(
      spelling: "has", example: "tags has \"river\"",
      meaning: "The list has this element, or the object this member. An index over the elements answers it."),
    Form(spelling: "is null, is not null", example: "mayor is null", meaning: "There is no value."),
    Form(
      spelling: "not, and, or, ( )", example: "not (country = \"CH\" or country = \"FR\") and population > 0",
      meaning: "not binds most, then and, then or."),
    Form(
      spelling: "12 -0.5 5M \"text\" 'text' true false null", example: "population > 1.5M or name = 'Bern'",
      meaning:
        "Numbers, also with k, M or G behind them for thousands, millions and billions; texts, truth values and nothing."
    ),
    Form(
      spelling: "2026-11-17 2026-11-17T09:30Z", example: "since >= 2026-11-17T09:30Z", meaning: "A day or a moment."),
  ]
}
