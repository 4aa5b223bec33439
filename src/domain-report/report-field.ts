import ipaddr from 'ipaddr.js'
import { parseDomain } from '../smtp/domain-name.ts'
import { ReportFault } from './domain-report.ts'

/** Characters of a text that is kept. */
const longest = 200
const hour = 3_600_000
/** Reports tell of a day, some of a week; no receiver counts for longer than a month. */
const longestRange = 32 * 24 * hour
/** Reports were unknown before 2010, and times in seconds go as far as this. */
const [earliest, latest] = [Date.UTC(2010, 0), Date.UTC(2200, 0)]
/** What the largest senders send in a day is a tenth of it; sums of it stay exact. */
const [mostOfRow, mostOfReport] = [1_000_000_000, 10_000_000_000]

/** On one line, cut; null where nothing is there. It is shown to people, on terminals too. */
export function shortText(text: string | null | undefined): string | null {
  const line = (text ?? '')
    .slice(0, 4 * longest)
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
  return line === '' ? null : line.slice(0, longest).toWellFormed()
}

/** @throws ReportFault where it is missing */
export function neededText(text: string | null | undefined, field: string): string {
  const found = shortText(text)
  if (found === null) throw new ReportFault(`The report has no ${field}.`)
  return found
}

/**
 * A domain in A-labels and lower case; a final dot is left out.
 * @throws ReportFault
 */
export function domainField(text: string | null | undefined, field: string): string {
  const parsed = parseDomain(neededText(text, field).replace(/\.$/, ''))
  // Names with an underscore are in use for From addresses too, but nobody sends from them here.
  if (!parsed.ok) throw new ReportFault(`The ${field} of the report is not a domain.`)
  return parsed.domain
}

/**
 * An address in its usual form; IPv4 in IPv6 clothing is IPv4.
 * @throws ReportFault
 */
export function addressField(text: string | null | undefined, field: string): string {
  const found = neededText(text, field)
  if (!ipaddr.isValid(found) || !/[.:]/.test(found)) throw new ReportFault(`The ${field} "${found}" is not an IP address.`)
  return ipaddr.process(found).toString()
}

/**
 * How many.
 * @throws ReportFault where it is not a whole number
 */
export function countField(text: string | number | null | undefined, field: string): number {
  const count = typeof text === 'number' ? text : /^\s*\d{1,15}\s*$/.test(text ?? '') ? Number(text) : NaN
  if (Number.isInteger(count) && count >= 0 && count <= mostOfRow) return count
  throw new ReportFault(`The ${field} of the report is not a whole number, or beyond all reason.`)
}

/**
 * The time that a report tells of.
 * @throws ReportFault where it is none that a report could have
 */
export function rangeOf(beginAt: number, endAt: number): { beginAt: number; endAt: number } {
  const isPlausible = beginAt >= earliest && beginAt <= endAt && endAt <= latest && endAt - beginAt <= longestRange
  if (!isPlausible) throw new ReportFault('The date range of the report is missing or not plausible.')
  return { beginAt, endAt }
}

/**
 * All of a report's messages or sessions.
 * @throws ReportFault where nobody can have sent so many
 */
export function sumOf(counts: number[]): number {
  const sum = counts.reduce((total, count) => total + count, 0)
  if (sum > mostOfReport) throw new ReportFault('The report counts more than anybody can have sent.')
  return sum
}
