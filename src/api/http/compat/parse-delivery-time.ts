const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const dateTime =
  /^(?:(?:mon|tue|wed|thu|fri|sat|sun) *, *)?(\d{1,2}) +([a-z]{3}) +(\d{4}) +(\d{2}):(\d{2})(?::(\d{2}))? +(?:([+-])(\d{2})(\d{2})|gmt|ut|utc|z)$/i

/**
 * A time as Mailgun takes it: RFC 5322 3.3 with a zone, or seconds since 1970. Epoch, ms; null where it is neither.
 */
export function parseDeliveryTime(text: string): number | null {
  if (/^\d{9,11}$/.test(text)) return Number(text) * 1000
  const found = dateTime.exec(text.trim())
  if (!found) return null
  const [, day = '', name = '', year = '', hour = '', minute = '', second = '0', sign = '+', zoneHours = '0', zoneMinutes = '0'] = found
  const month = months.indexOf(name.toLowerCase())
  const at = Date.UTC(Number(year), month, Number(day), Number(hour), Number(minute), Number(second))
  const date = new Date(at)
  // A day that the month does not have, or an hour that the day does not, would have moved on to the next.
  const isReal =
    month >= 0 && date.getUTCDate() === Number(day) && date.getUTCHours() === Number(hour) && date.getUTCMinutes() === Number(minute)
  if (!isReal || Number(zoneMinutes) > 59) return null
  const zone = (Number(zoneHours) * 60 + Number(zoneMinutes)) * 60_000
  return at - (sign === '-' ? -zone : zone)
}
