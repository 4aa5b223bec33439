import createClient from 'openapi-fetch'
import type { components, paths } from './openapi-typescript/types.ts'

const client = createClient<paths>({ baseUrl: process.env.BASE_URL ?? '', headers: { authorization: `Bearer ${process.env.KEY}` } })

const body: components['schemas']['SendEmail'] = {
  from: { email: 'app@sender.example', name: 'App' },
  to: ['delivered@simulator.test', { email: 'bounced@simulator.test' }],
  subject: 'Hello',
  html: '<p>Hello</p>',
  tags: { kind: 'welcome' },
  unsubscribe: { topic: 'news' },
}
const sent = await client.POST('/api/send', { body, params: { header: { 'Idempotency-Key': 'once' } } })
if (sent.error) throw new Error(`${sent.error.name}: ${sent.error.message}`)
const { id } = sent.data

const list = await client.GET('/api/emails', { params: { query: { limit: 1, to: 'delivered@simulator.test' } } })
if (list.error) throw new Error(list.error.message)

const email = await client.GET('/api/emails/{id}', { params: { path: { id } } })
if (email.error) throw new Error(email.error.message)

/** Narrowed by its type, an event has the data of that type. */
const bounceTypeOf = (event: components['schemas']['Event']): string | null =>
  event.type === 'email.bounced' ? event.data.bounce_type : null

const bounceTypes = async (): Promise<(string | null)[]> => {
  const events = await client.GET('/api/emails/{id}/events', { params: { path: { id } } })
  return (events.data?.data ?? []).map(bounceTypeOf).filter((type) => type !== null)
}
while ((await bounceTypes()).length === 0) await new Promise((resolve) => setTimeout(resolve, 20))

const refused = await client.POST('/api/emails', { body: { to: 'nobody' } })
console.log(
  JSON.stringify({
    listed: list.data.data.map((item) => item.id === id),
    recipients: email.data.recipients.map((recipient) => recipient.email),
    bounceTypes: await bounceTypes(),
    refused: refused.error?.errors?.map(({ field }) => field),
  }),
)
