import { isLoopback } from '../ip-address.ts'
import { type Finding, sayOf } from './finding.ts'

/** Who answers at a URL: a Sterna server, something else, or nobody, with the reason. */
export type WebAnswer = 'sterna' | 'other' | { fault: string }

/** Whether links that begin with base_url lead here. From here we cannot see whether they do so from outside. */
export async function examineBaseUrl(baseUrl: string, ask: (url: string) => Promise<WebAnswer>): Promise<Finding> {
  return judgeBaseUrl(baseUrl, isLocal(baseUrl) ? 'sterna' : await ask(`${baseUrl}/healthz`))
}

export function judgeBaseUrl(baseUrl: string, answer: WebAnswer): Finding {
  const say = sayOf('base_url')
  if (isLocal(baseUrl)) {
    return say.warning(
      `Links begin with ${baseUrl}, which leads every reader to their own computer.`,
      'Set base_url to where this server is reached from outside, or set hostname.',
    )
  }
  if (answer === 'other')
    return say.failed(
      `At ${baseUrl} something other than Sterna answers, so links in mail lead nowhere.`,
      'Set base_url to where this server is reached from outside, or have the proxy there hand requests on to http.listen.',
    )
  if (answer !== 'sterna')
    return say.warning(
      `${baseUrl} cannot be reached from here: ${answer.fault}.`,
      'Check it from another machine as well (sterna doctor --of HOST): some networks cannot reach their own public address. Publish ' +
        'the name, open the port, and use a ' +
        'certificate that browsers trust.',
    )
  if (!baseUrl.startsWith('https:'))
    return say.warning(
      `${baseUrl} is reached without TLS: API keys can be read on the way, and receivers offer no one-click unsubscribe.`,
      'Put a proxy with TLS in front, or set http.tls_listen with acme.enabled or tls.cert and tls.key, and set base_url to the https URL.',
    )
  return say.ok(`${baseUrl} leads to a Sterna server.`)
}

function isLocal(baseUrl: string): boolean {
  const host = new URL(baseUrl).hostname.replace(/^\[|\]$/g, '')
  return host === 'localhost' || host.endsWith('.localhost') || isLoopback(host)
}
