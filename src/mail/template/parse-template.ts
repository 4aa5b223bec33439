/** A node of a parsed template: plain text, a variable, or a section with its content. */
export type TemplateNode =
  | string
  | { type: 'variable'; path: string[]; isRaw: boolean }
  | { type: 'section'; path: string[]; isInverted: boolean; nodes: TemplateNode[] }

/** Where another text is inserted before the template is sent. */
export interface Insertion {
  /** The alias or id of a partial; null: in a layout, the place for the template. */
  name: string | null
  /** The positions of the tag's first character and of its end. */
  at: number
  end: number
}

/** `nodes` ignores partials: with named insertions it is not the whole template. */
type ParsedTemplate = { ok: true; nodes: TemplateNode[]; insertions: Insertion[] } | { ok: false; line: number; fault: string }

/** The template has a syntax error; `fault` says why and what to write instead. */
class TemplateFault extends Error {
  readonly at: number
  constructor(at: number, message: string) {
    super(message)
    this.at = at
  }
}

/** An alias or an id. */
export const templateName = /^[a-z0-9][a-z0-9_-]{0,63}$/

/** Nested sections. */
const deepest = 32
/** A newsletter has hundreds. */
const maxTags = 20_000
/** characters */
const maxNameLength = 200
/** characters of a faulty tag to show */
const maxQuoteLength = 60

interface OpenSection {
  tag: string
  name: string
  at: number
  nodes: TemplateNode[]
}

interface Tag {
  /** With its braces. */
  text: string
  kind: '' | '#' | '^' | '/' | '!' | '&' | '>'
  name: string
  /** The positions of its first character, and after its last. */
  at: number
  end: number
}

/**
 * Parses a template: Mustache without lambdas and other delimiters. `{{x}}`, `{{{x}}}`, `{{&x}}`, `{{#x}}…{{/x}}`, `{{^x}}…{{/x}}`, `{{! a
 * comment }}`; names may have dots, `{{.}}` is the list entry itself. A section tag or comment on a line of its own leaves no line. `{{>
 * x}}` and `{{{@content}}}` are returned as insertions. Takes time in proportion to the text.
 */
export function parseTemplate(text: string): ParsedTemplate {
  const insertions: Insertion[] = []
  try {
    return { ok: true, nodes: nodesOf(text, insertions), insertions }
  } catch (error) {
    if (!(error instanceof TemplateFault)) throw error
    return { ok: false, line: text.slice(0, error.at).split('\n').length, fault: error.message }
  }
}

function nodesOf(text: string, insertions: Insertion[]): TemplateNode[] {
  const root: OpenSection = { tag: '', name: '', at: 0, nodes: [] }
  const open = [root]
  let from = 0
  let tags = 0
  // Whether only white space precedes `from` on this line.
  let isLineBlank = true
  for (let at = text.indexOf('{{'); at !== -1; at = text.indexOf('{{', from)) {
    const tag = tagAt(text, at)
    if (++tags > maxTags) throw new TemplateFault(at, `There are more than ${maxTags} tags. Use a section over a list.`)
    const literal = text.slice(from, at)
    const lineStart = literal.lastIndexOf('\n') + 1
    isLineBlank = (lineStart > 0 || isLineBlank) && /^[ \t]*$/.test(literal.slice(lineStart))
    const lineEnd: number | null = isLineBlank && leavesNoLine(tag) ? lineEndAfter(text, tag.end) : null
    const { nodes } = open.at(-1) as OpenSection
    const kept = lineEnd === null ? literal : literal.slice(0, lineStart)
    if (kept !== '') nodes.push(kept)
    applyTag(tag, open)
    if (isInsertion(tag)) insertions.push(insertionOf(tag))
    from = lineEnd ?? tag.end
    isLineBlank = lineEnd !== null
  }
  if (from < text.length) (open.at(-1) as OpenSection).nodes.push(text.slice(from))
  const left = open.at(-1) as OpenSection
  if (left !== root) throw new TemplateFault(left.at, `${left.tag} is never closed. Write {{/${left.name}}} where it ends.`)
  return root.nodes
}

const leavesNoLine = ({ kind }: Tag): boolean => kind !== '' && kind !== '&' && kind !== '>'

/** Where the next line begins if the rest of this one is blank; null otherwise. */
function lineEndAfter(text: string, at: number): number | null {
  const rest = /[ \t]*(?:\r?\n|$)/y
  rest.lastIndex = at
  return rest.test(text) ? rest.lastIndex : null
}

function applyTag(tag: Tag, open: OpenSection[]): void {
  const { nodes } = open.at(-1) as OpenSection
  switch (tag.kind) {
    case '!':
    case '>':
      return
    case '':
    case '&':
      nodes.push({ type: 'variable', path: pathOf(tag), isRaw: tag.kind === '&' })
      return
    case '/':
      return closeSection(tag, open)
    default: {
      const section: TemplateNode = { type: 'section', path: pathOf(tag), isInverted: tag.kind === '^', nodes: [] }
      nodes.push(section)
      if (open.length > deepest) throw new TemplateFault(tag.at, `Sections are nested more than ${deepest} deep.`)
      open.push({ tag: tag.text, name: tag.name, at: tag.at, nodes: section.nodes })
    }
  }
}

/** Postmark's layouts use the same name. */
const contentName = '@content'

const isInsertion = ({ kind, name }: Tag): boolean => kind === '>' || (kind === '&' && name === contentName)

function insertionOf({ kind, name, text, at, end }: Tag): Insertion {
  if (kind !== '>') return { name: null, at, end }
  if (templateName.test(name)) return { name, at, end }
  throw new TemplateFault(at, `${text} names no template. Write the alias of a published one, as in {{> footer}}.`)
}

function closeSection(tag: Tag, open: OpenSection[]): void {
  const section = open.pop() as OpenSection
  if (open.length === 0)
    throw new TemplateFault(tag.at, `${tag.text} closes a section that was not opened. Write {{#${quoted(tag.name)}}} where it begins.`)
  if (section.name !== tag.name) {
    throw new TemplateFault(tag.at, `${tag.text} comes while ${section.tag} is still open. Write {{/${section.name}}} before it.`)
  }
}

function tagAt(text: string, at: number): Tag {
  const isTriple = text.startsWith('{{{', at)
  const close = isTriple ? '}}}' : '}}'
  const closeAt = text.indexOf(close, at + close.length)
  if (closeAt === -1)
    throw new TemplateFault(at, `${quoted(text.slice(at, at + maxQuoteLength))} is never closed. Write ${close} where the tag ends.`)
  const end = closeAt + close.length
  // React writes > like this.
  const inside = text.slice(at + close.length, closeAt).replace(/^\s*&gt;(?=\s)/, '>')
  if (isTriple) return { text: quoted(text.slice(at, end)), kind: '&', name: inside.trim(), at, end }
  const [, sigil = ''] = /^\s*([#^/!&>=<$%*]?)/.exec(inside) ?? []
  const tag = { text: quoted(text.slice(at, end)), name: inside.trimStart().slice(sigil.length).trim(), at, end }
  if (isKind(sigil)) return { ...tag, kind: sigil }
  throw new TemplateFault(at, `${tag.text} is not supported: ${refused[sigil] ?? 'a name cannot start like this'}.`)
}

const isKind = (sigil: string): sigil is Tag['kind'] => ['', '#', '^', '/', '!', '&', '>'].includes(sigil)

const refused: Record<string, string> = {
  '=': 'the delimiters are always {{ and }}',
  '<': 'a template has no parent; give it a layout',
  $: 'a template has no blocks; give it a layout, or use partials',
}

/** @throws TemplateFault if it is not a name */
function pathOf({ name, text, at }: Tag): string[] {
  if (name === '.') return []
  // Before splitting: several megabytes would become an equally long list.
  if (name.length > maxNameLength) throw new TemplateFault(at, `${text} has no valid name. A name has at most ${maxNameLength} characters.`)
  const path = name.split('.')
  if (path.every((part) => /^[^\s.{}"'()[\]|#^/!&>=<]+$/.test(part))) return path
  if (/^(?:each|if|unless|with|else)\b/.test(name)) {
    const [, subject = 'x'] = name.split(/\s+/)
    throw new TemplateFault(
      at,
      `${text} is not Mustache, which has no words such as if and each. Write {{#${subject}}}…{{/${subject}}}, or {{^${subject}}}…{{/${subject}}} for missing or empty values.`,
    )
  }
  throw new TemplateFault(at, `${text} has no valid name. A name has letters, digits, _ and -, and dots for members: {{customer.name}}.`)
}

const quoted = (text: string): string => (text.length > maxQuoteLength ? `${text.slice(0, maxQuoteLength)}…` : text).replace(/\s+/g, ' ')
