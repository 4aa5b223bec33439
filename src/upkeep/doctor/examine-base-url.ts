import { isLoopback } from '../../platform/ip-address.ts'
import { type Finding, sayOf } from './finding.ts'

/** Who answers at a URL: a Sterna server, something else, or nobody, with the reason. */
export type WebAnswer = 'sterna' | 'other' | { fault: string }

/** Whether links that begin with base_url lead here. From here we cannot see whether they do so from outside. */
export async function examineBaseUrl(baseUrl: string, ask: (url: string) => Promise<WebAnswer>): Promise<Finding> {
  return judgeBaseUrl(baseUrl, isLocal(baseUrl) ? 'sterna' : await ask(`${baseUrl}/healthz`))
}

export function judgeBaseUrl(url: string, answer: WebAnswer): Finding {
  const say = sayOf('base_url')
  if (isLocal(url)) return say.warning('base_url_local', { url })
  if (answer === 'other') return say.failed('base_url_taken', { url })
  if (answer !== 'sterna') return say.warning('base_url_unreachable', { url, fault: answer.fault })
  if (!url.startsWith('https:')) return say.warning('base_url_without_tls', { url })
  return say.ok('base_url_fine', { url })
}

function isLocal(baseUrl: string): boolean {
  const host = new URL(baseUrl).hostname.replace(/^\[|\]$/g, '')
  return host === 'localhost' || host.endsWith('.localhost') || isLoopback(host)
}
