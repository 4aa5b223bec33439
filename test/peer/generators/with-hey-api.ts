import { client } from './hey-api/client.gen.ts'
import { emailsCreate, emailsGet, emailsList, emailsListEvents, emailsSend } from './hey-api/sdk.gen.ts'
import type { Event, SendEmail } from './hey-api/types.gen.ts'

client.setConfig({ baseUrl: process.env.BASE_URL ?? '', auth: () => process.env.KEY })

const body: SendEmail = {
  from: { email: 'app@sender.example', name: 'App' },
  to: ['delivered@simulator.test', { email: 'bounced@simulator.test' }],
  subject: 'Hello',
  html: '<p>Hello</p>',
  tags: { kind: 'welcome' },
  unsubscribe: { topic: 'news' },
}
const sent = await emailsSend({ body, headers: { 'Idempotency-Key': 'once' } })
if (sent.error) throw new Error(`${sent.error.name}: ${sent.error.message}`)
const { id } = sent.data

const list = await emailsList({ query: { limit: 1, to: 'delivered@simulator.test' } })
if (list.error) throw new Error(list.error.message)

const email = await emailsGet({ path: { id } })
if (email.error) throw new Error(email.error.message)

/** Narrowed by its type, an event has the data of that type. */
const bounceTypeOf = (event: Event): string | null => (event.type === 'email.bounced' ? event.data.bounce_type : null)

const bounceTypes = async (): Promise<(string | null)[]> => {
  const events = await emailsListEvents({ path: { id } })
  return (events.data?.data ?? []).map(bounceTypeOf).filter((type) => type !== null)
}
while ((await bounceTypes()).length === 0) await new Promise((resolve) => setTimeout(resolve, 20))

const refused = await emailsCreate({ body: { to: 'nobody' } })
console.log(
  JSON.stringify({
    listed: list.data.data.map((item) => item.id === id),
    recipients: email.data.recipients.map((recipient) => recipient.email),
    bounceTypes: await bounceTypes(),
    refused: refused.error?.errors?.map(({ field }) => field),
  }),
)
