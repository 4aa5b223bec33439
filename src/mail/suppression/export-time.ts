/** Times in milliseconds have had more digits than this since 2001. */
const seconds = /^\d{1,11}(?:\.\d+)?$/
const milliseconds = /^\d{12,14}$/
const iso = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(:\d{2})?(?:\.(\d+))?\s*(Z|UTC|[+-]\d{2}(?::?\d{2})?)?)?$/i
const rfc5322 = /^(?:[a-z]{3},\s*)?\d{1,2} [a-z]{3} \d{4} /i

/**
 * Parses a time in a service's format: epoch in seconds or milliseconds, ISO 8601 with a space instead of T (UTC by default), or RFC 5322.
 * Returns epoch ms; null for anything else.
 */
export function parseExportTime(text: string): number | null {
  if (seconds.test(text)) return Math.floor(Number(text) * 1000)
  if (milliseconds.test(text)) return Number(text)
  const at = rfc5322.test(text) ? Date.parse(text) : Date.parse(strictIso(text))
  return Number.isNaN(at) || at < 0 ? null : at
}

/** In the form that `Date.parse` reliably reads. */
function strictIso(text: string): string {
  const [, date, minutes = '00:00', second = ':00', fraction = '0', zone = 'Z'] = iso.exec(text) ?? []
  if (date === undefined) return ''
  const [, hours, minutesOff = '00'] = /^([+-]\d{2}):?(\d{2})?$/.exec(zone) ?? []
  return `${date}T${minutes}${second}.${fraction.slice(0, 3)}${hours === undefined ? 'Z' : `${hours}:${minutesOff}`}`
}
