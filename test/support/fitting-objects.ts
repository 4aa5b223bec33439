import { exampleOf, type Fitting, type MakerServices, type Makers } from './fitting.ts'
import { emails, queues, templates, webhooks } from './fitting-mail.ts'
import { links, sessions } from './fitting-people.ts'
import type { Call } from './owned-objects.ts'

interface FittingMaker {
  /** percent of the requests that it is made for */
  share: number
  make: Makers[string]
}

/** The maker for the longest beginning of the template that there is one for. */
const inside = (makers: Makers, template: string): Makers[string] | undefined => {
  const [place] = Object.keys(makers)
    .filter((known) => template === known || template.startsWith(`${known}/`))
    .toSorted((a, b) => b.length - a.length)
  return place === undefined ? undefined : makers[place]
}

/**
 * What makes that which a request to an endpoint of the document is to find, in the state that the endpoint needs;
 * undefined where there is nothing to make.
 */
export function fittingObjects(given: Omit<MakerServices, 'next'>): (method: string, template: string) => FittingMaker | undefined {
  let count = 0
  const services = { ...given, next: () => ++count }
  const special: Makers = {
    ...emails(services),
    ...templates(services),
    ...queues(services),
    ...webhooks(services),
    ...links(services),
    ...sessions(services),
    ...examples(services),
  }
  const any = everything(services)
  return (method, template) => {
    const make = special[`${method} ${template}`] ?? inside(special, template)
    if (make) return { share: 85, make }
    // What belongs to something would not belong to the new one.
    const general = template.split('{').length === 2 ? inside(any, template) : undefined
    return general && { share: /^\/api\/(?:accounts|users)\//.test(template) ? 85 : 30, make: general }
  }
}

/** Something new of each kind, since others change and remove what there is. */
function everything({ call, next }: MakerServices): Makers {
  const bodies: Record<string, (number: number) => unknown> = {
    '/api/accounts/{id}': (number) => ({ name: `account ${number}` }),
    '/api/api-keys/{id}': (number) => ({ name: `key ${number}` }),
    '/api/domains/{idOrName}': (number) => ({ name: `made${number}.example` }),
    '/api/emails/{id}': (number) => ({
      from: 'app@sender.example',
      to: 'delivered@simulator.test',
      subject: `Hello ${number}`,
      text: 'Hello',
    }),
    '/api/suppressions/{idOrEmail}': (number) => ({ email: `gone${number}@example.com` }),
    '/api/templates/{idOrAlias}': (number) => ({ name: `Welcome ${number}`, subject: 'Hello', html: '<p>Hello</p>' }),
    '/api/users/{id}': (number) => ({ email: `invited${number}@example.com`, role: 'member' }),
    '/api/webhooks/{id}': (number) => ({ url: `https://hooks.example/${number}`, events: ['email.complained'] }),
  }
  const makers = Object.fromEntries(
    Object.entries(bodies).map(([place, body]) => {
      const [path = '', name = ''] = place.slice(0, -1).split('/{')
      return [
        place,
        async (): Promise<Fitting> => {
          const answer = await call('POST', path, body(next()))
          // Of some an account has a thousand at most, and then there are enough.
          return answer.status < 300 ? { parameters: { [name]: answer.body.id } } : {}
        },
      ]
    }),
  )
  return { ...makers, '/api/webhooks': () => withRoom(call), '/api/webhooks/{id}': () => withRoom(call).then(makers['/api/webhooks/{id}']) }
}

/** What the document's examples make is there once. */
function examples({ call, document }: MakerServices): Makers {
  const { name } = exampleOf(document, '/api/domains') as { name: string }
  const { alias } = exampleOf(document, '/api/templates') as { alias: string }
  const without = (path: string) => async (): Promise<Fitting> => {
    await call('DELETE', path)
    return {}
  }
  return { 'POST /api/domains': without(`/api/domains/${name}`), 'POST /api/templates': without(`/api/templates/${alias}`) }
}

/** An account may have fifty webhooks. */
async function withRoom(call: Call): Promise<Fitting> {
  const { data } = (await call('GET', '/api/webhooks?limit=100')).body as { data: { id: string; url: string }[] }
  const generated = data.filter(({ url }) => !url.includes('127.0.0.1'))
  for (const { id } of generated.slice(30)) await call('DELETE', `/api/webhooks/${id}`)
  return {}
}
