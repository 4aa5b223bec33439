import { SternaError } from '../../platform/errors.ts'

/** characters */
const longest = 2048

/** Ports of other protocols, whose servers might misread a POST: FTP, SSH, Telnet, mail, databases. */
const foreignPorts = new Set(
  [21, 22, 23, 25, 53, 110, 143, 389, 445, 465, 587, 636, 993, 995, 1433, 3306, 5432, 6379, 11211, 27017].map(String),
)

/**
 * What is wrong with a webhook's URL, worded for its owner; null if nothing. The address behind the name
 * is checked at connection time, not here.
 */
export function webhookUrlFault(text: string, { allowHttp }: { allowHttp: boolean }): string | null {
  if (text.length > longest) return `must have at most ${longest} characters`
  // A URL parser drops or trims such characters, so the stored URL would differ from the checked one.
  if (/[\s\p{Cc}]/u.test(text)) return 'must not contain spaces, tabs or line breaks'
  if (!URL.canParse(text)) return 'must be an absolute URL, such as https://app.example.com/webhooks'
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with https:// or http://'
  if (url.protocol === 'http:' && !allowHttp) return 'must begin with https://, because this server does not allow http webhooks'
  if (!/^https?:\/\//i.test(text)) return 'must begin with https:// or http://'
  // A URL parser takes what follows for the host: http:///x is http://x/ to it.
  if (!/^[a-z]+:\/\/[^/\\?#]/i.test(text)) return 'must have a host after ://, such as https://app.example.com/webhooks'
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password'
  if (text.includes('#')) return 'must not have a fragment (#…)'
  if (foreignPorts.has(url.port)) return `must not use port ${url.port}, which belongs to another protocol`
  return null
}

/** @throws SternaError `validation_error` */
export function checkWebhookUrl(text: string, options: { allowHttp: boolean }): void {
  const fault = webhookUrlFault(text, options)
  if (fault === null) return
  const message = `The \`url\` field ${fault}.`
  throw new SternaError('validation_error', message, { faults: [{ field: 'url', code: 'invalid_url', message, help: null }] })
}
