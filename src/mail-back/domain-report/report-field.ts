import ipaddr from 'ipaddr.js'
import { parseDomain } from '../../platform/smtp/domain-name.ts'
import { ReportFault } from './domain-report.ts'

/** Characters stored of a text. */
const longest = 200
const hour = 3_600_000
/** Reports cover a day, some a week. No receiver covers more than a month. */
const maxRangeLength = 32 * 24 * hour
/** There were no reports before 2010. The latest time bounds what counts as seconds. */
const [earliest, latest] = [Date.UTC(2010, 0), Date.UTC(2200, 0)]
/** Ten times what the largest senders send per day. Sums stay exact. */
const [maxPerRow, maxPerReport] = [1_000_000_000, 10_000_000_000]

/** Shortened to one line that is safe to show, also on a terminal; null if empty. */
export function shortText(text: string | null | undefined): string | null {
  const line = (text ?? '')
    .slice(0, 4 * longest)
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
  return line === '' ? null : line.slice(0, longest).toWellFormed()
}

/** @throws ReportFault if it is missing */
export function neededText(text: string | null | undefined, field: string): string {
  const found = shortText(text)
  if (found === null) throw new ReportFault(`The report has no ${field}.`)
  return found
}

/**
 * A domain in A-labels and lower case, without a final dot.
 * @throws ReportFault
 */
export function domainField(text: string | null | undefined, field: string): string {
  const parsed = parseDomain(neededText(text, field).replace(/\.$/, ''))
  // From domains with an underscore exist, but nobody sends from one here.
  if (!parsed.ok) throw new ReportFault(`The ${field} of the report is not a domain.`)
  return parsed.domain
}

/**
 * An IP address in canonical form; IPv4-mapped IPv6 becomes IPv4.
 * @throws ReportFault
 */
export function addressField(text: string | null | undefined, field: string): string {
  const found = neededText(text, field)
  if (!ipaddr.isValid(found) || !/[.:]/.test(found)) throw new ReportFault(`The ${field} "${found}" is not an IP address.`)
  return ipaddr.process(found).toString()
}

/**
 * A count.
 * @throws ReportFault if it is not a whole number
 */
export function countField(text: string | number | null | undefined, field: string): number {
  const count = typeof text === 'number' ? text : /^\s*\d{1,15}\s*$/.test(text ?? '') ? Number(text) : NaN
  if (Number.isInteger(count) && count >= 0 && count <= maxPerRow) return count
  throw new ReportFault(`The ${field} of the report is not a plausible whole number.`)
}

/**
 * The period that a report covers.
 * @throws ReportFault if it is implausible
 */
export function rangeOf(beginAt: number, endAt: number): { beginAt: number; endAt: number } {
  const isPlausible = beginAt >= earliest && beginAt <= endAt && endAt <= latest && endAt - beginAt <= maxRangeLength
  if (!isPlausible) throw new ReportFault('The date range of the report is missing or not plausible.')
  return { beginAt, endAt }
}

/**
 * The total of a report's messages or sessions.
 * @throws ReportFault if nobody can have sent so many
 */
export function sumOf(counts: number[]): number {
  const sum = counts.reduce((total, count) => total + count, 0)
  if (sum > maxPerReport) throw new ReportFault('The report counts more messages than anybody can have sent.')
  return sum
}
