import { SternaError, type FieldFault } from '../../platform/errors.ts'
import type { TemplateNode } from './parse-template.ts'
import { RenderBudget } from './render-budget.ts'
import { renderNodes, type RenderFindings } from './render-nodes.ts'
import type { DeclaredVariable, ParsedContent } from './template-content.ts'

/** A template with its variables filled in. */
export interface RenderedTemplate {
  subject: string | null
  html: string
  text: string | null
  /** Variables without a value or fallback, sorted; they render as nothing. */
  missing: string[]
}

interface RenderOptions {
  /** Where the caller gave the variables, for error messages. */
  field: string
  /** The shared budget of this rendering and others. */
  room?: RenderBudget | null
}

/**
 * Fills in the variables: escaped in html, unescaped in text and subject, without line breaks in the subject.
 * @throws SternaError `validation_error` for a value of the wrong type, or if the result would be too large
 */
export function renderTemplate(
  { parsed, variables }: { parsed: ParsedContent; variables: DeclaredVariable[] },
  given: Record<string, unknown>,
  { field, room = null }: RenderOptions,
): RenderedTemplate {
  refuseAny(variables.flatMap((variable) => typeFault(variable, given, field)))
  const data = withFallbacks(variables, given)
  const budget = new RenderBudget({ outer: room })
  const findings: RenderFindings = { missing: new Set(requiredOf(variables, data)), unprintable: new Set() }
  const part = (nodes: TemplateNode[], escape: boolean): string => {
    budget.nextPart()
    return renderNodes(nodes, data, { escape, budget, findings })
  }
  const subject = parsed.subject && part(parsed.subject, false).replace(/[\r\n]+/g, '')
  const html = part(parsed.html, true)
  const text = parsed.text && part(parsed.text, false)
  refuseAny(Array.from(findings.unprintable, (name) => unprintable(name, field)))
  return { subject, html, text, missing: [...findings.missing].toSorted() }
}

/**
 * Like `renderTemplate`, for an email to be sent.
 * @throws SternaError also `missing_template_variable`, which names each one
 */
export function renderComplete(...template: Parameters<typeof renderTemplate>): RenderedTemplate {
  const rendered = renderTemplate(...template)
  const { missing } = rendered
  if (missing.length === 0) return rendered
  const faults = missing.slice(0, maxFaults).map((name) => missingFault(name, template[2].field))
  const names = missing.slice(0, maxFaults).join(', ')
  throw new SternaError('missing_template_variable', `The template needs a value for ${names}.`, { faults })
}

/** A null counts as absent, so the fallback applies. */
function withFallbacks(variables: DeclaredVariable[], given: Record<string, unknown>): Record<string, unknown> {
  const data: Record<string, unknown> = Object.assign(Object.create(null), given)
  for (const { key, fallbackValue } of variables) data[key] ??= fallbackValue
  return data
}

const requiredOf = (variables: DeclaredVariable[], data: Record<string, unknown>): string[] =>
  variables.filter(({ key }) => data[key] === null).map(({ key }) => key)

/** A number has only one text form, so it may replace a string; a text cannot replace a number. */
function typeFault({ key, type }: DeclaredVariable, given: Record<string, unknown>, field: string): FieldFault[] {
  const value = Object.hasOwn(given, key) ? given[key] : null
  if (value === null || value === undefined || typeof value === 'number' || typeof value === type) return []
  return [{ field: `${field}.${key}`, code: 'invalid_type', message: `The variable ${key} must be a ${type}.`, help: null }]
}

/** how many one response names */
const maxFaults = 100

const missingFault = (name: string, field: string): FieldFault => ({
  field: `${field}.${name}`,
  code: 'missing',
  message: `The variable ${name} has no value.`,
  help: `Set it in \`${field}\`, or declare it in the template with a fallback_value.`,
})

const unprintable = (name: string, field: string): FieldFault => ({
  field: `${field}.${name}`,
  code: 'invalid_type',
  message: `The variable ${name} is an object or a list, which cannot be shown as text.`,
  help: `Write {{#${name}}}…{{/${name}}} in the template, and name the members inside.`,
})

function refuseAny(faults: FieldFault[]): void {
  if (faults[0]) throw new SternaError('validation_error', faults[0].message, { faults: faults.slice(0, maxFaults) })
}
