import type { z } from 'zod'
import { SternaError } from '../errors.ts'
import type { ErrorCode, FieldFault } from '../errors.ts'

/** `params` of a schema's own check: how its fault is to be named. `error` becomes the name of the whole refusal. */
export interface CheckParams {
  code: string
  error?: ErrorCode
  help?: string
}

type Issue = z.core.$ZodIssue

/**
 * The value as the schema has it, with what the schema does not know left out.
 * @throws SternaError `missing_required_field`, `validation_error` or what a check names, with a fault for each field;
 * `invalid_json` where the whole is not an object (or array) at all
 */
export function validate<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issues = result.error.issues.flatMap((issue) => innermost(issue))
  const whole = issues.find((issue) => issue.path.length === 0 && issue.code === 'invalid_type')
  if (whole) throw new SternaError('invalid_json', `The request body must be a JSON ${expected(whole)}, not ${kindOf(value)}.`)
  throw refusal(issues.map((issue) => ({ ...faultOf(issue, value), error: paramsOf(issue)?.error })))
}

/** One error from all faults; its name is that of the first fault that has one of its own. */
export function refusal(faults: (FieldFault & { error?: ErrorCode | undefined })[]): SternaError {
  const own = faults.find((fault) => fault.error !== undefined)
  const name = own?.error ?? (faults.every((fault) => fault.code === 'missing') ? 'missing_required_field' : 'validation_error')
  const first = own ?? faults[0]
  const shown = faults.slice(0, mostFaults).map(({ field, code, message, help }) => ({ field, code, message, help }))
  return new SternaError(name, first?.message ?? 'The request is not valid.', { faults: shown })
}

/** A million wrong elements need no million explanations. */
const mostFaults = 100

const paramsOf = (issue: Issue): CheckParams | undefined => (issue.code === 'custom' ? (issue.params as CheckParams | undefined) : undefined)

/** Of a union, the faults of the form that was evidently meant: the one whose outer type is right. */
function innermost(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const meant = issue.errors.find((branch) => branch.every((inner) => inner.path.length > 0 || inner.code !== 'invalid_type'))
  return meant ? meant.flatMap((inner) => innermost({ ...inner, path: [...issue.path, ...inner.path] })) : [issue]
}

function faultOf(issue: Issue, value: unknown): FieldFault {
  const field = issue.path.map(String).join('.')
  const params = paramsOf(issue)
  if (params) return { field, code: params.code, message: issue.message, help: params.help ?? null }
  if (issue.code === 'unrecognized_keys') {
    const key = issue.keys[0] ?? ''
    const path = field === '' ? key : `${field}.${key}`
    return { field: path, code: 'unknown_field', message: `There is no field \`${path}\`.`, help: null }
  }
  const given = valueAt(value, issue.path)
  if (given === undefined) return { field, code: 'missing', message: `The \`${field}\` field is missing.`, help: null }
  return { field, code: codeOf(issue), message: `The \`${field}\` field ${complaint(issue, given)}.`, help: null }
}

function codeOf(issue: Issue): string {
  if (issue.code === 'too_big') return issue.origin === 'string' ? 'too_long' : issue.origin === 'array' ? 'too_many' : 'too_large'
  if (issue.code === 'too_small') return issue.origin === 'string' ? 'too_short' : issue.origin === 'array' ? 'too_few' : 'too_small'
  if (issue.code === 'invalid_type' || issue.code === 'invalid_union') return 'invalid_type'
  return issue.code === 'invalid_value' ? 'invalid_value' : 'invalid_format'
}

function complaint(issue: Issue, given: unknown): string {
  const unit = 'origin' in issue && issue.origin === 'string' ? ' characters' : 'origin' in issue && issue.origin === 'array' ? ' entries' : ''
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${article(expected(issue))}, not ${kindOf(given)}`
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`
    case 'too_big':
      return `must ${unit === '' ? 'be at most' : 'have at most'} ${issue.maximum}${unit}`
    case 'too_small':
      return `must ${unit === '' ? 'be at least' : 'have at least'} ${issue.minimum}${unit}`
    case 'invalid_union':
      return `has a type that it cannot have: ${kindOf(given)}`
    default:
      return `is not valid: ${issue.message}`
  }
}

const expected = (issue: Issue): string => {
  if (issue.code !== 'invalid_type') return 'object'
  return issue.expected === 'record' ? 'object' : issue.expected === 'int' ? 'whole number' : issue.expected
}

/** Says of a list with gaps what it has become: some languages encode it as an object, to everybody's surprise. */
const kindOf = (value: unknown): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return article(typeof value)
}

const article = (noun: string): string => (/^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`)

function valueAt(value: unknown, path: PropertyKey[]): unknown {
  let at = value
  for (const key of path) {
    if (at === null || typeof at !== 'object' || !Object.hasOwn(at, key)) return undefined
    at = (at as Record<PropertyKey, unknown>)[key]
  }
  return at
}
