import { noteCopied } from '../../src/mail-out/queue/restored-hold.ts'
import { inTheEnd, type Fitting, type MakerServices, type Makers } from './fitting.ts'
import { made } from './owned-objects.ts'
import { startReceiver, status } from './webhook-receiver.ts'

/** Emails in the state that a change of them needs. */
export function emails({ relay, call, rehearse, next }: MakerServices): Makers {
  const send = async (fields: Record<string, unknown>, by = call): Promise<string> =>
    (
      await made(by, '/api/emails', {
        from: 'app@sender.example',
        to: `delivered+${next()}@simulator.test`,
        subject: 'Hello',
        text: 'Hello',
        ...fields,
      })
    ).id
  const scheduled = async (): Promise<Fitting> => ({
    parameters: { id: await send({ scheduled_at: new Date(relay.clock.now() + 3_600_000).toISOString() }) },
  })
  return {
    'PATCH /api/emails/{id}': scheduled,
    '/api/emails/{id}/attachments/{attachment_id}': async () => {
      const id = await send({ attachments: [{ filename: 'note.txt', content: 'SGVsbG8=' }] })
      const { data } = (await call('GET', `/api/emails/${id}/attachments`)).body
      return { parameters: { id, attachment_id: data[0].id } }
    },
    'DELETE /api/emails/{id}': async () => ({ parameters: { id: await send({}, rehearse) } }),
    '/preview/{token}': async () => {
      const { url } = await made(call, '/api/previews', { html: '<p>Hello</p>' })
      return { parameters: { token: url.split('/').at(-1) } }
    },
    'POST /api/emails/{id}/cancel': scheduled,
    'POST /api/emails/{id}/resend': async () => {
      const id = await send({ to: `softbounced+${next()}@simulator.test` })
      await untilSo(async () => (await call('GET', `/api/emails/${id}`)).body.recipients[0].status === 'bounced')
      return { parameters: { id } }
    },
  }
}

/** Templates that were published. */
export function templates({ call, next }: MakerServices): Makers {
  const published = async (): Promise<Fitting> => {
    const answer = await call('POST', '/api/templates', {
      name: `Published ${next()}`,
      subject: 'Hello',
      html: '<p>Hello</p>',
      from: 'app@sender.example',
    })
    // An account has a thousand at most, and then there are enough.
    if (answer.status >= 300) return {}
    await made(call, `/api/templates/${answer.body.id}/publish`, {})
    return { parameters: { idOrAlias: answer.body.id, number: '1' } }
  }
  const paths = ['versions/{number}', 'diff', 'publish', 'test'].map((end) => `/api/templates/{idOrAlias}/${end}`)
  return Object.fromEntries(paths.map((path) => [path, published]))
}

/** Live mail to a destination whose servers cannot be looked up. */
export function queues({ relay, call, next }: MakerServices): Makers {
  const waiting = async (): Promise<Fitting> => {
    // By a route that another request has made, the mail might rest with a smarthost that is down.
    const { smarthostRoutes } = relay.relay.services
    for (const { id, recipientDomain } of smarthostRoutes.byAge()) if (recipientDomain === null) await smarthostRoutes.remove(id)
    const domain = `waiting${next()}.example`
    relay.dns.zone[domain] = 'servfail'
    await relay.send(`user@${domain}`)
    await untilSo(async () => {
      const { body } = await call('GET', `/api/queue/${domain}`)
      return body.in_hand === 0 && body.last_response !== null
    })
    return { parameters: { domain } }
  }
  const restored = async (): Promise<Fitting> => {
    await noteCopied(relay.relay.services)
    return {}
  }
  return {
    '/api/queue/{domain}': waiting,
    '/api/queue/{domain}/release': async () => {
      const fitting = await waiting()
      await made(call, `/api/queue/${fitting.parameters?.domain}/hold`, undefined)
      return fitting
    },
    '/api/queue/restored/release': restored,
    '/api/queue/restored/cancel': restored,
  }
}

const untilSo = (isSo: () => Promise<boolean>): Promise<void> =>
  inTheEnd(async () => {
    if (!(await isSo())) throw new Error('it is not so yet')
  })

/** A webhook that takes what it is sent: of the same event one delivery after the other, each of them ended. */
export function webhooks({ call, keep, next }: MakerServices): Makers {
  let webhook: Promise<string> | undefined
  const make = async (): Promise<string> => {
    const receiver = await startReceiver(status(200))
    const { id } = await made(call, '/api/webhooks', { url: receiver.url, events: ['email.complained'] })
    keep(id)
    await made(call, '/api/emails', {
      from: 'app@sender.example',
      to: `complained+${next()}@simulator.test`,
      subject: 'Hello',
      text: 'Hello',
    })
    return id
  }
  const delivered = async (): Promise<Fitting> => {
    const id = await (webhook ??= make())
    return inTheEnd(async () => {
      const { body } = await call('GET', `/api/webhooks/${id}/deliveries?limit=1`)
      const [last] = body.data
      if (last?.status !== 'success') throw new Error(`the last delivery is ${last?.status}`)
      return { parameters: { id, delivery_id: last.id, event_id: last.event_id } }
    })
  }
  return { '/api/webhooks/{id}/deliveries/{delivery_id}': delivered, '/api/webhooks/{id}/events/{event_id}': delivered }
}
