import { z } from 'zod'
import { SternaError } from '../../platform/errors.ts'
import { parseIsoTime } from '../../platform/iso-time.ts'
import { parsePasted } from '../../platform/smtp/mailbox.ts'
import { nearestName } from './mistyped.ts'

/**
 * The query parameters by name, each with a schema for its text. All are optional here: a handler that requires one checks that itself,
 * and its parameter has `.meta({ required: true })` for the document.
 */
export type QueryShape = Record<string, z.ZodType<unknown, string>>

/** Any text. */
export const textParameter = z.string()

const parsedTime = z.string().transform((text, ctx) => {
  const trimmed = text.trim()
  const at = parseIsoTime(trimmed)
  if (at !== null) return { at, isDay: trimmed.length === dayLength }
  ctx.addIssue('must be a time such as 2026-11-21T06:00:00Z, or a date')
  return z.NEVER
})

const dayLength = '2026-11-21'.length
const dayMs = 86_400_000

/** A time, parsed to epoch, ms. */
export const timeParameter = parsedTime
  .transform(({ at }) => at)
  .meta({ description: 'A time such as 2026-11-21T06:00:00Z, or a date (UTC).' })

/** The end of a range, epoch, ms, exclusive: a date means all of that day. */
export const endParameter = parsedTime
  .transform(({ at, isDay }) => (isDay ? at + dayMs : at))
  .meta({ description: 'Before a time such as 2026-11-21T06:00:00Z, or up to the end of a date (UTC).' })

/** A whole address, as somebody pasted it. */
export const addressParameter = z.string().transform((text, ctx) => {
  const parsed = parsePasted(text)
  if (parsed.ok) return parsed.address
  ctx.addIssue(`must be an email address. ${parsed.fault}`)
  return z.NEVER
})

/** One of a fixed set of words. */
export const choiceParameter = <const T extends readonly string[]>(choices: T) =>
  z.enum(choices, { error: `must be one of ${choices.join(', ')}` })

/** One or more of a fixed set of words, separated by commas. */
export const choicesParameter = <const T extends readonly [string, ...string[]]>(choices: T) =>
  z
    .string()
    .transform((text, ctx): T[number][] => {
      const words = text.split(',').map((word) => word.trim())
      const wrong = words.some((word) => !choices.includes(word))
      if (wrong) ctx.addIssue(`must be one or more of ${choices.join(', ')}, separated by commas`)
      return words
    })
    .meta({ description: `One or more of ${choices.join(', ')}, separated by commas.` })

/** A whole number within limits. */
export const numberParameter = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, { error: `must be a whole number from ${least} to ${most}`, abort: true })
    .transform(Number)
    .refine((value) => value >= least && value <= most, { error: `must be a whole number from ${least} to ${most}` })
    .meta({ type: 'integer', minimum: least, maximum: most, description: `A whole number from ${least} to ${most}.` })

/** Several values, separated by commas. */
export const listParameter = (most: number) =>
  z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== ''),
    )
    .refine((items) => items.length <= most, { error: `must have at most ${most} values` })

/**
 * The declared parameters of a query string; null where one is absent or empty. Others are ignored, unless they are nearly a declared one that is absent.
 * @throws SternaError `invalid_parameter`, also where one is given twice
 */
export function readQuery(queryString: string, shape: QueryShape): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  const given = new URLSearchParams(queryString)
  for (const [name, schema] of Object.entries(shape)) {
    const [text, second] = given.getAll(name)
    if (second !== undefined) throw new SternaError('invalid_parameter', `Give the parameter ${name} only once.`)
    values[name] = text === undefined || text === '' ? null : parsed(schema, name, text)
  }
  const unknown = [...given.keys()].filter((name) => !Object.hasOwn(shape, name))
  for (const name of unknown.slice(0, maxUnknown)) refuseMistyped(name, shape, given)
  return values
}

/** Unknown parameters that are compared: there may be thousands. */
const maxUnknown = 100

/** Silently ignored, `recipient` in place of `to` would list everything. */
function refuseMistyped(name: string, shape: QueryShape, given: URLSearchParams): void {
  const nearest = nearestName(name, Object.keys(shape))
  if (nearest === null || given.has(nearest)) return
  throw new SternaError('invalid_parameter', `There is no parameter ${name}. Did you mean ${nearest}?`)
}

function parsed(schema: z.ZodType, name: string, text: string): unknown {
  const result = schema.safeParse(text)
  if (result.success) return result.data
  throw new SternaError('invalid_parameter', `The parameter ${name} ${result.error.issues[0]?.message ?? 'is not valid'}.`)
}
