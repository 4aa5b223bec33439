import type { TemplateNode } from './parse-template.ts'
import type { RenderBudget } from './render-budget.ts'

/** What rendering could not do. Names are as in the template. */
export interface RenderFindings {
  /** There was no value of this name. */
  missing: Set<string>
  /** The value is an object or a list, which has no text of its own. */
  unprintable: Set<string>
}

interface Rendering {
  escape: boolean
  budget: RenderBudget
  findings: RenderFindings
  /** What a name may refer to, the innermost last. */
  contexts: unknown[]
  pieces: string[]
}

/**
 * Renders a parsed template. A name is looked up in the innermost section first; only the data's own properties are found, nothing that
 * JavaScript adds. No code from the data runs.
 * @param how `escape`: whether `{{x}}` is for HTML
 * @throws OverBudget
 */
export function renderNodes(
  nodes: TemplateNode[],
  data: unknown,
  how: { escape: boolean; budget: RenderBudget; findings: RenderFindings },
): string {
  const rendering: Rendering = { ...how, contexts: [data], pieces: [] }
  renderAll(nodes, rendering)
  return rendering.pieces.join('')
}

function renderAll(nodes: TemplateNode[], rendering: Rendering): void {
  for (const node of nodes) {
    rendering.budget.step()
    if (typeof node === 'string') write(node, rendering)
    else if (node.type === 'variable') renderVariable(node, rendering)
    else renderSection(node, rendering)
  }
}

function write(text: string, { budget, pieces }: Rendering): void {
  budget.write(text.length)
  pieces.push(text)
}

function renderVariable({ path, isRaw }: { path: string[]; isRaw: boolean }, rendering: Rendering): void {
  const value = lookUp(path, rendering)
  const { findings } = rendering
  if (value === undefined) findings.missing.add(nameOf(path))
  else if (typeof value === 'string') writeValue(value, isRaw, rendering)
  else if (typeof value === 'number' || typeof value === 'boolean') write(String(value), rendering)
  else if (value !== null) findings.unprintable.add(nameOf(path))
}

const nameOf = (path: string[]): string => (path.length === 0 ? '.' : path.join('.'))

/** characters escaped at a time, so a long value cannot outgrow the budget unnoticed */
const pieceLength = 64 * 1024

function writeValue(text: string, isRaw: boolean, rendering: Rendering): void {
  if (isRaw || !rendering.escape || !/[&<>"']/.test(text)) return write(text, rendering)
  for (let at = 0; at < text.length; at += pieceLength) write(escapeHtml(text.slice(at, at + pieceLength)), rendering)
}

/** For text between tags and for attribute values in quotation marks. */
const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;')

/** Renders once for each entry of a list, and once for any other value that is not empty; the inverted form is for the rest. */
function renderSection(section: { path: string[]; isInverted: boolean; nodes: TemplateNode[] }, rendering: Rendering): void {
  const value = lookUp(section.path, rendering)
  const isEmpty = !value || (Array.isArray(value) && value.length === 0)
  if (isEmpty !== section.isInverted) return
  const { contexts, budget } = rendering
  if (section.isInverted) return renderAll(section.nodes, rendering)
  for (const entry of Array.isArray(value) ? value : [value]) {
    budget.step()
    contexts.push(entry)
    renderAll(section.nodes, rendering)
    contexts.pop()
  }
}

/** Undefined if there is nothing with that name. */
function lookUp(path: string[], { contexts, budget }: Rendering): unknown {
  const [first, ...rest] = path
  if (first === undefined) return contexts.at(-1)
  for (let at = contexts.length - 1; at >= 0; at--) {
    budget.step()
    const context = contexts[at]
    if (!has(context, first)) continue
    let value: unknown = context[first]
    for (const name of rest) value = has(value, name) ? value[name] : undefined
    return value
  }
  return undefined
}

const has = (value: unknown, name: string): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
