import { apiCommand } from './api-command.ts'
import { serverWide } from './command-scope.ts'
import { conditionsText, type routeExplanation, type smarthostRoute } from '../../api/resource/route-operations.ts'
import type { providerStop } from '../../api/resource/shaping-operations.ts'
import { argument, printable, shownTime, type Command } from './command.ts'

type ShownRoute = ReturnType<typeof smarthostRoute.answer>
type RouteExplained = ReturnType<typeof routeExplanation.answer>

function wayText(via: string | null, smarthost: RouteExplained['smarthost']): string {
  if (smarthost) return `by ${via ?? 'delivery.smarthost'} (${smarthost.host}:${smarthost.port})`
  return via === null ? 'nowhere now' : via
}

export const routeCommands: Command[] = [
  apiCommand({ name: 'explain', does: 'explain.address', args: { ADDRESS: 'to' }, of: serverWide }),
  apiCommand<RouteExplained>({
    name: 'route explain',
    does: 'routes.explain',
    args: { FROM: 'from', TO: 'to' },
    of: serverWide,
    show: ({ via, smarthost, reason, provider, destination }) => ({
      stdout: `${[
        wayText(via, smarthost),
        reason,
        provider === null
          ? `No provider is known that runs the mail hosts of ${destination}.`
          : `The mail hosts of ${destination} belong to the provider ${provider}.`,
      ].join('\n')}\n`,
    }),
  }),
  apiCommand({ name: 'route add', does: 'routes.create', of: serverWide, options: { account: 'account_id' } }),
  apiCommand<{ data: ShownRoute[] }>({
    name: 'route list',
    does: 'routes.list',
    of: serverWide,
    whole: true,
    doc: 'Lists the routes.',
    columns: {
      ID: ({ id }) => id,
      VIA: ({ via }) => via,
      MAIL: ({ account_id: accountId, sending_domain: sendingDomain, recipient_domain: recipientDomain, provider }) =>
        conditionsText({ accountId, sendingDomain, recipientDomain, provider }),
    },
  }),
  apiCommand({ name: 'route change', does: 'routes.update', args: { ID: 'id' }, of: serverWide }),
  apiCommand({
    name: 'route remove',
    does: 'routes.delete',
    args: { ID: 'id' },
    of: serverWide,
    show: (_, { input }) => ({ stdout: '', stderr: `${argument(input, 0)} is removed.\n` }),
  }),
  apiCommand<{ data: ReturnType<typeof providerStop.answer>[] }>({
    name: 'shaping',
    does: 'shaping.list',
    of: serverWide,
    columns: {
      DESTINATIONS: ({ group }) => group,
      FROM: ({ source_address, family }) => source_address ?? `any ${family === 'ipv6' ? 'IPv6' : 'IPv4'} address`,
      UNTIL: ({ until }) => shownTime(Date.parse(until)),
      REPLY: ({ reason }) => printable(reason),
    },
  }),
  apiCommand({ name: 'mta-sts show', does: 'mta_sts.get', args: { DOMAIN: 'domain' }, of: serverWide }),
  apiCommand({ name: 'mta-sts refresh', does: 'mta_sts.refresh', args: { DOMAIN: 'domain' }, of: serverWide }),
]
