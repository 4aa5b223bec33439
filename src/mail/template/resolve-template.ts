import { SternaError } from '../../platform/errors.ts'
import type { SourcePart, TemplateSource } from './template-source.ts'
import { maxVariables, partialIn, type DeclaredVariable } from './template-content.ts'
import { parseTemplate } from './parse-template.ts'

/** A template with its layout and partials inserted. */
export interface ResolvedTemplate {
  html: string
  text: string | null
  variables: DeclaredVariable[]
}

/** A version that is part of another one. */
export interface TemplateUse {
  templateId: string
  versionId: string
}

type PartName = 'html' | 'text'

/** Nested partials, and nested layouts. */
const deepest = 10
/** Partials in one html or text, including those in partials each time. */
const maxInsertions = 1000
/** characters, and bytes; the same limit as for hand-written parts */
const longest = 5 * 1024 * 1024

const fault = (field: string, code: string, message: string): SternaError =>
  new SternaError('validation_error', message, { faults: [{ field, code, message, help: null }] })

/**
 * Inserts the layout and partials of a template. Measures the result before building it, so partials that multiply one another cost no
 * more than their own texts.
 * @param found the named templates, by their names as written; all of them exist
 * @throws SternaError `validation_error` for circles, for too many partials, for nesting that is too deep, for results that are too
 * long, and for a layout without a place for the template
 */
export function resolveTemplate(root: TemplateSource, found: ReadonlyMap<string, TemplateSource>): ResolvedTemplate {
  const layouts = layoutsOf(root, found)
  const html = partOf('html', root, { layouts, found })
  const text = root.text === null || root.text.text === '' ? (root.text?.text ?? null) : partOf('text', root, { layouts, found })
  checkReadable('html', html)
  checkReadable('text', text ?? '')
  return { html, text, variables: variablesOf([root, ...layouts, ...found.values()]) }
}

/** Texts that are now next to each other may exceed a limit together, or form a tag that nobody has written. */
function checkReadable(part: PartName, text: string): void {
  const parsed = parseTemplate(text)
  const where = `The \`${part}\` field with its layout and partials`
  if (!parsed.ok) throw fault(part, 'invalid_template', `${where} cannot be read at line ${parsed.line}. ${parsed.fault}`)
  if (partialIn(parsed.insertions) === null) return
  throw fault(
    part,
    'invalid_template',
    `${where} has a partial that begins in one template and ends in another. Write the whole tag in one of them.`,
  )
}

/** The layout, its own layout, and so on. */
function layoutsOf(root: TemplateSource, found: ReadonlyMap<string, TemplateSource>): TemplateSource[] {
  const layouts: TemplateSource[] = []
  for (let { layout } = root; layout !== null; layout = layouts.at(-1)?.layout ?? null) {
    const source = found.get(layout) as TemplateSource
    if (source.id === root.id || layouts.some(({ id }) => id === source.id)) {
      throw fault('layout', 'circle', `The layout ${layout} contains itself. Remove the layout from one of them.`)
    }
    if (layouts.push(source) > deepest) throw fault('layout', 'too_deep', `Layouts are nested more than ${deepest} deep.`)
  }
  return layouts
}

interface Surroundings {
  layouts: TemplateSource[]
  found: ReadonlyMap<string, TemplateSource>
}

/** Texts, with null at the place for the content of a layout. */
type Pieces = (string | null)[]

function partOf(part: PartName, root: TemplateSource, { layouts, found }: Surroundings): string {
  const expansion = new Expansion(part, found)
  // A layout without a text leaves the text unchanged.
  const around = layouts.filter((layout) => part === 'html' || (layout.text !== null && layout.text.text !== ''))
  const sizes = [root, ...around].map((source) => expansion.measure(source))
  sizes.slice(1).forEach(({ places }, i) => {
    if (places === 1) return
    const layout = root.id === around[i]?.id ? 'itself' : nameIn(found, around[i] as TemplateSource)
    const what = `The ${part} of the layout ${layout} has ${places === 0 ? 'no' : 'more than one'} {{{@content}}}.`
    throw fault('layout', 'no_content_place', `${what} Write it once, at the place for the template, and publish the layout.`)
  })
  const total = (of: (size: Size) => number): number => sizes.reduce((sum, size) => sum + of(size), 0)
  if (total(({ insertions }) => insertions) > maxInsertions) {
    throw fault(
      part,
      'too_many',
      `The \`${part}\` field has more than ${maxInsertions} partials, including those in its layout and in partials.`,
    )
  }
  if (total(({ length }) => length) > longest) throw tooLong(part)
  let pieces = expansion.pieces(root, { isInserted: around.length > 0 })
  around.forEach((layout, i) => {
    const content = pieces
    const frame = expansion.pieces(layout, { isInserted: i < around.length - 1, isLayout: true })
    pieces = frame.flatMap((piece) => (piece === null ? content : [piece]))
  })
  const text = pieces.join('')
  if (Buffer.byteLength(text) > longest) throw tooLong(part)
  return text
}

const tooLong = (part: PartName): SternaError =>
  fault(part, 'too_long', `The \`${part}\` field would exceed ${longest / 1024 / 1024} MiB with its layout and partials.`)

const nameIn = (found: ReadonlyMap<string, TemplateSource>, { id }: TemplateSource): string =>
  [...found].find(([, source]) => source.id === id)?.[0] ?? id

/** The measures of a part, without building it. */
interface Size {
  /** characters */
  length: number
  insertions: number
  /** How often it contains {{{@content}}}. */
  places: number
  /** The depth of nested partials. */
  depth: number
}

/** One part of a template with what it contains. */
class Expansion {
  readonly #part: PartName
  readonly #found: ReadonlyMap<string, TemplateSource>
  /** By the template's id; each is measured once, however often it is used. */
  readonly #sizes = new Map<string, Size>()
  /** The names on the path to the template being measured. */
  readonly #way: { id: string; name: string }[] = []

  constructor(part: PartName, found: ReadonlyMap<string, TemplateSource>) {
    this.#part = part
    this.#found = found
  }

  /** @throws SternaError if a partial contains itself, has no such part, or is nested too deeply */
  measure(source: TemplateSource): Size {
    const known = this.#sizes.get(source.id)
    if (known) return known
    const { text, insertions } = this.#partOf(source)
    const size: Size = { length: text.length, insertions: 0, places: 0, depth: 0 }
    for (const { name, at, end } of insertions) {
      if (name === null) {
        size.places++
        continue
      }
      const inner = this.#measurePartial(name, source)
      size.length += inner.length - (end - at)
      size.insertions += 1 + inner.insertions
      size.places += inner.places
      size.depth = Math.max(size.depth, 1 + inner.depth)
    }
    if (size.depth > deepest) throw fault(this.#part, 'too_deep', `Partials are nested more than ${deepest} deep.`)
    this.#sizes.set(source.id, size)
    return size
  }

  #measurePartial(name: string, within: TemplateSource): Size {
    const partial = this.#found.get(name) as TemplateSource
    this.#way.push({ id: within.id, name })
    const names = this.#way.map((step) => step.name)
    if (this.#way.some(({ id }) => id === partial.id)) {
      throw fault(this.#part, 'circle', `The partial {{> ${name}}} contains itself: ${names.join(' > ')}. Remove it from one of them.`)
    }
    const size = this.measure(partial)
    this.#way.pop()
    return size
  }

  /** @param how `isInserted`: without a line break at its end; `isLayout`: its places stay open */
  pieces(source: TemplateSource, { isInserted = false, isLayout = false }: { isInserted?: boolean; isLayout?: boolean }): Pieces {
    const { text, insertions, end } = this.#partOf(source)
    const pieces: Pieces = []
    let from = 0
    for (const { name, at, end: behind } of insertions) {
      if (name === null && !isLayout) continue
      pieces.push(text.slice(from, at))
      if (name === null) pieces.push(null)
      else pieces.push(...this.pieces(this.#found.get(name) as TemplateSource, { isInserted: true, isLayout }))
      from = behind
    }
    pieces.push(text.slice(from, isInserted ? end : text.length))
    return pieces
  }

  #partOf(source: TemplateSource): SourcePart {
    const part = source[this.#part]
    if (part) return part
    const name = this.#way.at(-1)?.name ?? source.id
    const remedy = 'Give it one (empty if it should insert nothing), and publish it.'
    throw fault(this.#part, 'no_text', `The partial {{> ${name}}} has no text of its own. ${remedy}`)
  }
}

/** The template's own declarations come first, then the layouts', then the partials'; for each name, the first counts. */
function variablesOf(sources: TemplateSource[]): DeclaredVariable[] {
  const byKey = new Map<string, DeclaredVariable>()
  for (const variable of sources.flatMap(({ variables }) => variables)) if (!byKey.has(variable.key)) byKey.set(variable.key, variable)
  if (byKey.size <= maxVariables) return [...byKey.values()]
  throw fault('variables', 'too_many', `With those of its layout and partials the template declares more than ${maxVariables} variables.`)
}
