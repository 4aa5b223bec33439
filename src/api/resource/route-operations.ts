import { z } from 'zod'
import { isProvider } from '../../mail-out/delivery/mx-provider.ts'
import { conditionNames, type RoutedMail, type RouteConditions } from '../../mail-out/smarthost/choose-route.ts'
import { routeObject } from '../../mail-out/smarthost/route-object.ts'
import { direct } from '../../mail-out/smarthost/smarthost-object.ts'
import type { StoredRoute } from '../../mail-out/smarthost/smarthost-routes.ts'
import { SternaError } from '../../platform/errors.ts'
import { snake } from '../../platform/letter-case.ts'
import { parsePasted } from '../../platform/smtp/mailbox.ts'
import type { RouteExplanation } from '../../upkeep/doctor/explain-route.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { pageFrom } from '../operation/page.ts'
import { textParameter } from '../operation/query.ts'
import { deletedAnswer, resource, time } from '../operation/resource.ts'
import type { Needs } from './operation-services.ts'

export const smarthostRoute = resource<StoredRoute>('SmarthostRoute')({
  object: 'route',
  id: z.string(),
  ...routeObject.answer,
  created_at: time(),
})

const conditionField = z.enum(conditionNames.map(snake) as [string, ...string[]])

/** Which way mail goes, and why. */
export const routeExplanation = resource<RouteExplanation>('RouteExplanation')({
  object: 'route_explanation',
  account_id: [z.string().describe('The account that would send the mail.'), ({ mail }) => mail.accountId],
  sending_domain: [z.string().nullable(), ({ mail }) => mail.sendingDomain],
  destination: [z.string(), ({ mail }) => mail.destination],
  provider: z.string().nullable().describe("The provider that runs the recipient's mail hosts. Null: none that is known."),
  via: [
    z
      .string()
      .nullable()
      .describe(`The name of the smarthost, or \`${direct}\`. Null: the smarthost of the settings, or none, as \`reason\` says.`),
    ({ choice, smarthost, fault }) => (fault === null ? (choice.via ?? (smarthost ? null : direct)) : null),
  ],
  smarthost: [
    z.object({ host: z.string(), port: z.int() }).nullable().describe("Null: mail goes to the recipient's own hosts."),
    ({ smarthost }) => smarthost && { host: smarthost.host, port: smarthost.port },
  ],
  route_id: [z.string().nullable().describe('The route that decides. Null: none, so the settings do.'), ({ choice }) => choice.routeId],
  reason: [z.string().describe('Why, in words.'), inWords],
  routes: [
    z
      .array(z.object({ id: z.string(), via: z.string(), unmet: z.array(conditionField) }))
      .describe(
        'All routes in the order in which they are tried. `unmet`: the conditions that this mail does not meet. Empty: it matches.',
      ),
    ({ routes }: RouteExplanation) => routes.map(({ route: { id, via }, misfits }) => ({ id, via, unmet: misfits.map(snake) })),
  ],
})

function inWords({ choice, smarthost, fault, routes }: RouteExplanation): string {
  if (fault !== null) return fault
  const route = routes.find(({ route: { id } }) => id === choice.routeId)?.route
  if (route) return `The route ${route.id} is the first that matches: ${conditionsText(route)}.`
  const none = routes.length === 0 ? 'There are no routes' : 'No route matches this mail'
  return smarthost ? `${none}, so it goes by delivery.smarthost.` : `${none}, and delivery.smarthost is not set.`
}

/** The conditions of a route, as the command line and explanations show them. */
export function conditionsText(route: RouteConditions): string {
  const set = conditionNames.flatMap((name) => (route[name] === null ? [] : [`${snake(name).replaceAll('_', ' ')} ${route[name]}`]))
  return set.length === 0 ? 'all mail' : set.join(', ')
}

const newRoute = z.object({ ...routeObject.request, via: routeObject.fields.via.type.describe(routeObject.fields.via.doc) })

const at = operationsAt({ path: '/api/routes', tag: 'Operation', permission: 'operator' })

type Services = Needs<'smarthostRoutes' | 'accounts' | 'sendingDomains' | 'explainRoute'>

/** `/api/routes`: which mail goes by which smarthost. */
export const routeOperations = (services: Services): Operation[] => [
  at.post('routes.create', '', 'Add a route', {
    description:
      'A route matches mail that meets all of its conditions; one without conditions matches all mail. The most specific match wins: one ' +
      'with a recipient domain, then with a provider, then with a sending domain, then with an account. Mail that no route matches goes by ' +
      '`delivery.smarthost`, if that is set. Mail that waits takes the new route at its next attempt.',
    body: { schema: newRoute, example: { provider: 'outlook', via: 'backup' } },
    answer: ['The route.', smarthostRoute.schema, 201],
    refuses: ['invalid_state', 'not_found'],
    handle: async ({ body }) => {
      const { accountId = null, provider = null, sendingDomain = null, recipientDomain = null } = routeObject.membersIn(body)
      if (provider !== null && !isProvider(provider)) throw noProvider()
      const account = accountId === null ? null : services.accounts.getAccount(accountId).id
      const conditions = { accountId: account, provider, sendingDomain, recipientDomain }
      return smarthostRoute.answer(await services.smarthostRoutes.create({ ...conditions, via: body.via }))
    },
  }),
  at.list('routes.list', '', 'List routes', {
    answer: ['The routes, newest first.', smarthostRoute],
    rows: (_, page) => pageFrom(services.smarthostRoutes.byAge(), page),
  }),
  // Before `/api/routes/{id}`.
  at.get('routes.explain', '/explain', 'Say which way mail goes, and why', {
    description: 'By the same choice as delivery. Looks up the MX hosts of the recipient, but connects to nobody.',
    query: {
      from: textParameter.meta({ description: "The sender's address.", required: true }),
      to: textParameter.meta({ description: "The recipient's address.", required: true }),
      account: textParameter.meta({ description: 'The account, by its id or its name, if several send from the domain.' }),
    },
    answer: ['Where it would go.', routeExplanation.schema],
    refuses: ['not_found'],
    handle: async ({ query: { from, to, account } }) => {
      const [sender, recipient] = [addressIn('from', from), addressIn('to', to)]
      const accountId = account === null ? null : services.accounts.getAccount(account).id
      const mail = { ...senderOf(sender, accountId, services), destination: recipient }
      return routeExplanation.answer(await services.explainRoute(mail))
    },
  }),
  at.get('routes.get', '/{id}', 'Read a route', {
    answer: ['The route.', smarthostRoute.schema],
    handle: async ({ params: { id } }) => smarthostRoute.answer(services.smarthostRoutes.get(id)),
  }),
  at.patch('routes.update', '/{id}', 'Change where a route leads', {
    body: { schema: z.object(routeObject.changes), example: { via: direct } },
    answer: ['The route.', smarthostRoute.schema],
    handle: async ({ params: { id }, body }) =>
      smarthostRoute.answer(await services.smarthostRoutes.change(id, routeObject.membersIn(body))),
  }),
  at.remove('routes.delete', '/{id}', 'Remove a route', {
    answer: ['The route is removed.', deletedAnswer('route', 'DeletedRoute')],
    handle: async ({ params: { id } }) => {
      await services.smarthostRoutes.remove(id)
      return { object: 'route' as const, id, deleted: true as const }
    },
  }),
]

/** The domain of an address that a parameter has. */
function addressIn(name: string, text: string | null): string {
  const parsed = parsePasted(text ?? '')
  if (parsed.ok) return parsed.domain
  throw new SternaError('invalid_parameter', `The parameter ${name} must be an address. ${parsed.fault}`)
}

/**
 * The account and the domain that would send from a domain.
 * @throws SternaError `invalid_parameter` if there is none, or more than one and none is named
 */
function senderOf(
  domain: string,
  accountId: string | null,
  { sendingDomains }: Pick<Services, 'sendingDomains'>,
): Omit<RoutedMail, 'destination'> {
  const accountIds = accountId === null ? new Set(sendingDomains.list().map((each) => each.accountId)) : [accountId]
  const senders = [...accountIds].flatMap((id) => {
    const found = sendingDomains.verifiedDomainFor(id, domain)
    return found ? [{ accountId: id, sendingDomain: found.name }] : []
  })
  const [sender, another] = senders
  if (sender && !another) return sender
  const whose = accountId === null ? 'No account has' : 'This account does not have'
  const fault = another ? `Several accounts send from ${domain}; name one.` : `${whose} the verified domain ${domain}.`
  throw new SternaError('invalid_parameter', `The parameter from must be an address that mail may be sent from. ${fault}`)
}

function noProvider(): SternaError {
  const message = 'The `provider` is not one of config/providers.json, such as google or outlook.'
  return new SternaError('validation_error', message, { faults: [{ field: 'provider', code: 'invalid_field', message, help: null }] })
}
