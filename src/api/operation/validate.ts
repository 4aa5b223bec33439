import type { z } from 'zod'
import { SternaError, type CheckParams, type ErrorCode, type FieldFault } from '../../platform/errors.ts'
import type { Mistyped } from './mistyped.ts'

type Issue = z.core.$ZodIssue

/**
 * The value as the schema has it, with what the schema does not know left out. `mistyped` are members that are refused all the same.
 * @throws SternaError `missing_required_field`, `validation_error` or what a check names, with a fault for each field;
 * `invalid_json` where the whole is not an object (or array) at all
 */
export function validate<S extends z.ZodType>(schema: S, value: unknown, mistyped: readonly Mistyped[] = []): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success && mistyped.length === 0) return result.data as z.output<S>
  const issues = (result.error?.issues ?? []).flatMap((issue) => innermost(issue))
  const whole = issues.find((issue) => issue.path.length === 0 && issue.code === 'invalid_type')
  if (whole) throw new SternaError('invalid_json', `The request body must be a JSON ${expected(whole)}, not ${kindOf(value)}.`)
  const faults = issues.flatMap((issue) => faultsOf(issue, value).map((fault) => ({ ...fault, error: paramsOf(issue)?.error })))
  // A slip of the pen is one fault: not also that the field is missing, nor that there is no such field.
  const told = new Set(mistyped.flatMap(({ fault, meant }) => [fault.field, `${meant} missing`]))
  const others = faults.filter(({ field, code }) => !told.has(field) && !told.has(`${field} ${code}`))
  throw refusal([...mistyped.map(({ fault }) => fault), ...others])
}

/** One error from all faults; its name is that of the first fault with a name of its own. */
export function refusal(faults: (FieldFault & { error?: ErrorCode | undefined })[]): SternaError {
  const own = faults.find((fault) => fault.error !== undefined)
  const name = own?.error ?? (faults.every((fault) => fault.code === 'missing') ? 'missing_required_field' : 'validation_error')
  const first = own ?? faults[0]
  const shown = faults.slice(0, maxFaults).map(({ field, code, message, help }) => ({ field, code, message, help }))
  return new SternaError(name, first?.message ?? 'The request is not valid.', { faults: shown })
}

/** A million wrong elements need no million explanations. */
const maxFaults = 100
/** characters; field names may come from the caller */
const maxPathLength = 200

const paramsOf = (issue: Issue): CheckParams | undefined =>
  issue.code === 'custom' ? (issue.params as CheckParams | undefined) : undefined

/** For a union, the faults of the alternative that was evidently meant: the one with the right outer type. */
function innermost(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const meant = issue.errors.find((branch) => !branch.some(isWrongType))
  return meant ? meant.flatMap((inner) => innermost({ ...inner, path: [...issue.path, ...inner.path] })) : [issue]
}

const isWrongType = (issue: Issue): boolean =>
  issue.path.length === 0 &&
  (issue.code === 'invalid_type' ||
    paramsOf(issue)?.code === 'invalid_type' ||
    (issue.code === 'invalid_union' && issue.errors.every((branch) => branch.some(isWrongType))))

function faultsOf(issue: Issue, value: unknown): FieldFault[] {
  const field = issue.path.map(String).join('.').slice(0, maxPathLength)
  if (issue.code !== 'unrecognized_keys') return [faultAt(field, issue, value)]
  return issue.keys.slice(0, maxFaults).map((key) => {
    const path = (field === '' ? key : `${field}.${key}`).slice(0, maxPathLength)
    return { field: path, code: 'unknown_field', message: `There is no field \`${path}\`.`, help: null }
  })
}

function faultAt(field: string, issue: Issue, value: unknown): FieldFault {
  const params = paramsOf(issue)
  if (params) return { field, code: params.code, message: `The \`${field}\` field ${issue.message}.`, help: params.help ?? null }
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
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${article(expected(issue))}, not ${expected(issue) === 'whole number' && typeof given === 'number' ? 'a fraction' : kindOf(given)}`
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`
    case 'too_big':
      return `must ${amount(issue.origin, 'at most', Number(issue.maximum))}`
    case 'too_small':
      return `must ${amount(issue.origin, 'at least', Number(issue.minimum))}`
    case 'invalid_union':
      return issue.message === 'Invalid input' ? `cannot be ${kindOf(given)}` : issue.message
    case 'invalid_key':
      return `is not a valid name: ${issue.issues[0]?.message ?? issue.message}`
    default:
      return `is not valid: ${issue.message}`
  }
}

function amount(origin: string, bound: string, count: number): string {
  if (origin === 'string') return `have ${bound} ${count} ${count === 1 ? 'character' : 'characters'}`
  return origin === 'array' ? `have ${bound} ${count} ${count === 1 ? 'entry' : 'entries'}` : `be ${bound} ${count}`
}

const expected = (issue: Issue): string => {
  if (issue.code !== 'invalid_type') return 'object'
  return issue.expected === 'record' ? 'object' : issue.expected === 'int' ? 'whole number' : issue.expected
}

/** Named in every fault: some languages encode a list with gaps as an object, which surprises everybody. */
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
