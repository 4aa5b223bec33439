import { SternaError } from '../errors.ts'
import { parseIsoTime } from '../iso-time.ts'
import type { ApiContext } from './api-state.ts'

/**
 * A parameter of the query string, null where it is absent or empty.
 * @throws SternaError `invalid_parameter` where it is given twice
 */
export function queryValue(ctx: ApiContext, name: string): string | null {
  const value = ctx.query[name]
  if (Array.isArray(value)) throw new SternaError('invalid_parameter', `Give the parameter ${name} once.`)
  return value === undefined || value === '' ? null : value
}

/**
 * A time in the query string as epoch, ms.
 * @throws SternaError `invalid_parameter`
 */
export function queryTime(ctx: ApiContext, name: string): number | null {
  const value = queryValue(ctx, name)
  if (value === null) return null
  const at = parseIsoTime(value)
  if (at === null) throw new SternaError('invalid_parameter', `The parameter ${name} must be a time such as 2026-11-21T06:00:00Z, or a date.`)
  return at
}

/**
 * A parameter with a fixed set of values.
 * @throws SternaError `invalid_parameter`
 */
export function queryChoice<T extends string>(ctx: ApiContext, name: string, choices: readonly T[]): T | null {
  const value = queryValue(ctx, name)
  if (value === null) return null
  const choice = choices.find((known) => known === value)
  if (choice === undefined) throw new SternaError('invalid_parameter', `The parameter ${name} must be one of ${choices.join(', ')}.`)
  return choice
}
