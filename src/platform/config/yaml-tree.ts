import { Document, isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, visit, type Alias, type Node, type Scalar } from 'yaml'

/** YAML with the line of each part, for faults that say where they are. */
export type YamlNode = { line: number } & ({ entries: YamlEntry[] } | { items: YamlNode[] } | { value: unknown })

interface YamlEntry {
  key: string
  /** The line of the key. */
  line: number
  node: YamlNode
}

/** Anchors within anchors can stand for more than any file needs. */
const maxNodes = 1_000_000
/** Deeper nesting is a slip, or an anchor within itself. */
const maxLevels = 20

/**
 * Parses YAML or JSON; null for an empty document.
 * @param fault is told what is wrong with the syntax, such as a key that is given twice, and in which line
 */
export function readYaml(source: string, fault: (line: number, message: string) => void): YamlNode | null {
  const lineCounter = new LineCounter()
  // The library compares each key with all before it.
  const document = parseDocument(source, { lineCounter, prettyErrors: false, uniqueKeys: false })
  const lineOf = (offset: number | undefined): number => (offset === undefined ? 1 : lineCounter.linePos(offset).line)
  for (const error of document.errors) fault(lineOf(error.pos[0]), `${error.message}.`)
  if (document.errors.length > 0 || document.contents === null) return null
  const repeated = repeatedKeys(document)
  for (const key of repeated) fault(lineOf(key.range?.[0]), 'Map keys must be unique.')
  if (repeated.length > 0) return null
  let nodes = 0
  // Each look-up reads the document from its beginning.
  const targets = new Map<Alias, Node | null>()
  const resolved = (alias: Alias): Node | null => {
    if (!targets.has(alias)) targets.set(alias, alias.resolve(document) ?? null)
    return targets.get(alias) ?? null
  }
  const nodeOf = (given: unknown, above: number, level: number): YamlNode => {
    const node = isAlias(given) ? resolved(given) : (given as Node | null)
    const line = isAlias(given) ? lineOf(given.range?.[0]) : lineOf(node?.range?.[0] ?? undefined) || above
    if (level > maxLevels) {
      if (nodes <= maxNodes) fault(line, 'this is nested too deeply.')
      return { line, value: null }
    }
    if (++nodes > maxNodes) {
      if (nodes === maxNodes + 1) fault(line, 'the file has too many values.')
      return { line, value: null }
    }
    if (isSeq(node)) return { line, items: node.items.map((item) => nodeOf(item, line, level + 1)) }
    if (!isMap(node)) return { line, value: isScalar(node) ? node.value : null }
    const entries = node.items.map(({ key, value }) => {
      const keyLine = isScalar(key) ? lineOf(key.range?.[0]) : line
      return { key: isScalar(key) ? String(key.value) : String(key), line: keyLine, node: nodeOf(value, keyLine, level + 1) }
    })
    return { line, entries }
  }
  return nodeOf(document.contents, 1, 0)
}

/** Keys that a map has given before. */
function repeatedKeys(document: Document.Parsed): Scalar[] {
  const repeated: Scalar[] = []
  visit(document, {
    Map(_, { items }) {
      const names = new Set<string>()
      for (const { key } of items) {
        if (!isScalar(key)) continue
        if (names.has(String(key.value))) repeated.push(key)
        names.add(String(key.value))
      }
    },
  })
  return repeated
}

/** The value without its lines. */
export function plainValue(node: YamlNode): unknown {
  if ('entries' in node) return Object.fromEntries(node.entries.map(({ key, node: inner }) => [key, plainValue(inner)]))
  return 'items' in node ? node.items.map(plainValue) : node.value
}

/** As YAML, with long texts as blocks, and `comment` above it, line by line. */
export function yamlText(value: unknown, comment: string): string {
  const document = new Document(value)
  document.commentBefore = comment
    .split('\n')
    .map((line) => (line === '' ? '' : ` ${line}`))
    .join('\n')
  return document.toString({ lineWidth: 120 })
}
