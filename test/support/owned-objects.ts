import { vi } from 'vitest'

/** In what only those with full access may see. */
export const plantedSecret = 'planted'

/** Calls the API as the holder of something. */
export type Call = (method: string, path: string, body?: unknown) => Promise<{ status: number; body: any }>

/** What is made by this body; where it is refused, the test has failed. */
export async function made(call: Call, path: string, body: unknown): Promise<any> {
  const answer = await call('POST', path, body)
  if (answer.status >= 300) throw new Error(`POST ${path} was refused: ${JSON.stringify(answer.body)}`)
  return answer.body
}

/**
 * Makes one of everything that an account can have, and gives the paths to them by their template: one for every
 * template of the API whose last part is a parameter.
 */
export async function makeObjects(
  call: Call,
  own: {
    accountId: string
    domain: string
    userId: string
    feedbackId: string
    tlsReportId: string
    stsDomain: string
    smarthostId: string
    routeId: string
  },
): Promise<Record<string, string>> {
  const make = async (path: string, body: unknown): Promise<string> => (await made(call, path, body)).id
  const webhook = await make('/api/webhooks', {
    url: `https://hooks.example/in?key=${plantedSecret}-query`,
    basic_auth: { username: 'sterna', password: `${plantedSecret}-password` },
  })
  const template = await make('/api/templates', { name: 'Welcome', subject: 'Hello', html: '<p>Hello</p>' })
  await made(call, `/api/templates/${template}/publish`, {})
  const key = await make('/api/api-keys', { name: 'made' })
  const erasure = await make('/api/erasures', { email: 'nobody@example.com' })
  const suppression = await make('/api/suppressions', { email: 'gone@example.com' })
  const email = await make('/api/emails', {
    from: `app@${own.domain}`,
    to: 'delivered@simulator.test',
    subject: 'Hello',
    text: 'Hello',
    attachments: [{ filename: 'a.txt', content: btoa('a') }],
  })
  const first = (path: string): Promise<string> =>
    vi.waitFor(
      async () => {
        const [found] = (await call('GET', path)).body.data
        if (found === undefined) throw new Error(`there is nothing at ${path}`)
        return found.id
      },
      { timeout: 90_000 },
    )
  const attachment = await first(`/api/emails/${email}/attachments`)
  const delivery = await first(`/api/webhooks/${webhook}/deliveries`)
  const event = await first(`/api/webhooks/${webhook}/events`)
  const domain = await first('/api/domains')
  const domainReport = await first(`/api/domains/${domain}/reports`)
  return {
    '/api/emails/{id}': email,
    '/api/emails/{id}/attachments/{attachment_id}': attachment,
    '/api/domains/{idOrName}': domain,
    '/api/domains/{idOrName}/reports/{id}': domainReport,
    '/api/templates/{idOrAlias}': template,
    '/api/templates/{idOrAlias}/versions/{number}': '1',
    '/api/webhooks/{id}': webhook,
    '/api/webhooks/{id}/deliveries/{delivery_id}': delivery,
    '/api/webhooks/{id}/events/{event_id}': event,
    '/api/suppressions/{idOrEmail}': suppression,
    '/api/erasures/{id}': erasure,
    '/api/events/{id}': event,
    '/api/find/{id}': event,
    '/api/api-keys/{id}': key,
    '/api/accounts/{id}': own.accountId,
    '/api/users/{id}': own.userId,
    '/api/feedback/{id}': own.feedbackId,
    '/api/tls-reports/{id}': own.tlsReportId,
    '/api/mta-sts/{domain}': own.stsDomain,
    '/api/smarthosts/{id}': own.smarthostId,
    '/api/routes/{id}': own.routeId,
    '/api/queue/{domain}': own.domain,
  }
}

const nobodys = '00000000000000000000000000'

/**
 * The path of a template with the ids of these objects, or of the same kind but not in existence. Where an object is
 * missing, the test has to learn how it is made.
 */
export function pathTo(template: string, objects: Record<string, string>, { exists }: { exists: boolean }): string {
  return template.replace(/\{\w+\}/g, (parameter, at: number) => {
    const id = objects[template.slice(0, at + parameter.length)]
    if (id === undefined) throw new Error(`no object was made for ${template}`)
    return exists ? id : id.slice(0, -nobodys.length) + nobodys
  })
}
