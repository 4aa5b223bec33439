import { ownRecords } from '../../upkeep/doctor/own-addresses.ts'
import { SternaError } from '../../platform/errors.ts'
import { domainAnswer } from '../../api/resource/domain-resource.ts'
import { isSystemDomain, requiredKindsOf, type Domain, type RecordKind } from '../../senders/sending-domain/domain.ts'
import { isWithin, type ServerRecord, zoneRecords } from '../../senders/sending-domain/server-records.ts'
import { type ZoneRecord, zoneFile } from '../../senders/sending-domain/zone-file.ts'
import { isFullName } from '../../platform/smtp/domain-name.ts'
import { apiCommand } from './api-command.ts'
import type { CommandServices } from './command-services.ts'
import {
  accountOption as account,
  argument,
  flagOption,
  listObject,
  printable,
  shownTime,
  table,
  textOption,
  type Command,
  type CommandInput,
  type CommandOutput,
} from './command.ts'

type ShownDomain = ReturnType<typeof domainAnswer>

/** Where a name is enough unless several accounts have it. */
const ofAnyAccount = { account: { ...account, required: false } } as const

export const domainCommands: Command[] = [
  apiCommand<ShownDomain>({
    name: 'domain add',
    does: 'domains.create',
    args: { NAME: 'name' },
    options: {
      'return-path': 'custom_return_path',
      selector: 'dkim_selector',
      'enforce-tls': {
        field: 'tls',
        type: 'boolean',
        doc: 'Never delivers its mail without TLS to a host with a valid certificate.',
        as: (typed) => (typed === 'true' ? 'enforced' : 'opportunistic'),
      },
      // A command line is no place for a secret.
      'dkim-private-key': null,
    },
    doc: 'Adds a sending domain with new DKIM keys, and prints the DNS records to publish.',
    show: (domain, { services: { config } }) => ({
      stdout: recordTable(domain.records),
      stderr: isFullName(config.hostname) ? '' : nameless(config.hostname, domain.name),
    }),
  }),
  {
    name: 'domain list',
    reads: true,
    args: [],
    options: ofAnyAccount,
    doc: 'Lists the domains of an account, or all.',
    async run(input, { accounts, sendingDomains }) {
      const name = textOption(input, 'account')
      const domains = sendingDomains.list(name === undefined ? undefined : accounts.getAccount(name).id)
      const rows = domains.map((domain) => [
        domain.id,
        domain.name,
        domain.status,
        shownTime(domain.checkedAt),
        isSystemDomain(domain) ? '(this server)' : (accounts.accountFor(domain.accountId)?.name ?? domain.accountId),
      ])
      const json = listObject(domains.map((domain) => domainAnswer(domain, sendingDomains)))
      return { stdout: table([['ID', 'NAME', 'STATUS', 'CHECKED', 'ACCOUNT'], ...rows]), json }
    },
  },
  apiCommand<ShownDomain, Domain>({
    name: 'domain show',
    does: 'domains.get',
    args: { NAME: 'idOrName' },
    of: findDomain,
    options: {
      ...ofAnyAccount,
      zone: { type: 'boolean', doc: 'Prints a zone file, also for the import of DNS providers such as Cloudflare.' },
    },
    doc:
      'Shows the DNS records to publish for a domain, and which ones the last check found. For the name of this server, also its ' +
      'addresses, the MX of its return path, and the reverse DNS.',
    async show(domain, { input, owner, services }) {
      const ofServer = await ownRecords(services)
      const more = isSystemDomain(owner) ? ofServer : []
      return {
        json: isSystemDomain(owner) ? { ...domain, server_records: ofServer } : domain,
        ...(flagOption(input, 'zone') ? zoneOf(domain, ofServer) : { stdout: recordTable([...domain.records, ...more]) }),
      }
    },
  }),
  {
    name: 'domain verify',
    args: ['NAME'],
    options: {
      ...ofAnyAccount,
      manual: { type: 'boolean', doc: 'Marks the domain as verified without checking: for a lab without DNS.' },
    },
    doc: 'Checks the DNS records of a domain and waits for the result; exits with an error unless they are all there.',
    async run(input, services) {
      const domain = await verify(findDomain(input, services), flagOption(input, 'manual'), services)
      if (domain.status !== 'verified') {
        throw new SternaError('domain_not_verified', `${domain.name} is ${domain.status}. ${missingFrom(domain, services)}`)
      }
      const { sendingDomains } = services
      return { stdout: `${domain.name} is verified\n`, json: domainAnswer(domain, sendingDomains) }
    },
  },
  apiCommand<ShownDomain, Domain>({
    name: 'domain rotate',
    does: 'domains.rotate_dkim',
    args: { NAME: 'idOrName' },
    of: findDomain,
    options: { ...ofAnyAccount, selector: 'dkim_selector', 'dkim-private-key': null },
    doc: 'Creates new DKIM keys and prints the records to publish. The keys sign once their records are found.',
    show: ({ records }) => ({ stdout: recordTable(records) }),
  }),
  apiCommand<unknown, Domain>({
    name: 'domain remove',
    does: 'domains.delete',
    args: { NAME: 'idOrName' },
    of: removableDomain,
    options: ofAnyAccount,
    doc: 'Stops using a domain. Mail that was accepted from it is still delivered.',
    asks: (input) => `Remove the domain ${argument(input, 0)} with its keys? Nothing more can be sent from it.`,
    show: (_, { owner: { name } }) => ({ stdout: `${name} is removed\n` }),
  }),
]

const nameless = (hostname: string, domain: string): string =>
  `Do not publish these yet: they name this server "${hostname}". Set hostname (STERNA_HOSTNAME) to its name in the DNS, restart ` +
  `it, and take the records from: sterna domain show ${domain}\n`

const recordTable = (records: readonly (ZoneRecord & { status?: string })[]): string =>
  table([
    ['TYPE', 'NAME', 'PRIORITY', 'STATUS', 'VALUE'],
    ...records.map(({ type, name, priority, value, status }) => [type, name, String(priority ?? '-'), status ?? '-', value]),
  ])

/** The records alone, so that they can be piped; what concerns other zones is a remark. */
function zoneOf(
  domain: { name: string; records: readonly ZoneRecord[] },
  ofServer: ServerRecord[],
): Pick<CommandOutput, 'stdout' | 'stderr'> {
  const elsewhere = ofServer.filter((record) => !isWithin(record, domain.name))
  const reverse = elsewhere.filter(({ type }) => type === 'PTR')
  const others = elsewhere.filter(({ type }) => type !== 'PTR')
  const remarks = [
    'Cloudflare: DNS > Records > Import and Export, and turn off "Proxy imported DNS records".\n',
    ...(others.length > 0 ? [`Publish in other zones, for this server itself:\n${zoneFile(others)}`] : []),
    ...(reverse.length > 0 ? [`Ask the provider of the addresses for this reverse DNS:\n${zoneFile(reverse)}`] : []),
  ]
  return { stdout: zoneFile(zoneRecords(domain, ofServer)), stderr: remarks.join('') }
}

/**
 * Several accounts may have a domain of the same name; then the command needs `--account`. The server's own name means the server's domain
 * only if no account has it; its id always does.
 */
function findDomain(input: CommandInput, { accounts, sendingDomains }: CommandServices): Domain {
  const name = argument(input, 0)
  const accountName = textOption(input, 'account')
  if (accountName !== undefined) return sendingDomains.get(accounts.getAccount(accountName).id, name)
  const found = sendingDomains.find(name)
  const owned = found.filter((each) => !isSystemDomain(each))
  const [domain, another] = owned.length > 0 ? owned : found
  if (!domain) {
    throw new SternaError('not_found', `There is no domain "${name}". Add it with: sterna domain add NAME --account ACCOUNT`)
  }
  if (another) throw new SternaError('invalid_parameter', `Several accounts have the domain ${name}. Choose one with --account.`)
  return domain
}

/** @throws SternaError `invalid_state` for that of the server itself */
function removableDomain(input: CommandInput, services: CommandServices): Domain {
  const domain = findDomain(input, services)
  if (!isSystemDomain(domain)) return domain
  throw new SternaError('invalid_state', `${domain.name} is the name of this server. Its domain follows the setting hostname.`)
}

async function verify(domain: Domain, manual: boolean, { sendingDomains, log }: CommandServices): Promise<Domain> {
  if (!manual) return sendingDomains.verify(domain.id)
  log.warn({ domainId: domain.id, accountId: domain.accountId, domain: domain.name }, 'domain marked as verified by hand')
  return sendingDomains.verifyManually(domain.id)
}

/** The required records that are missing, each with what was found instead. */
function missingFrom(domain: Domain, { sendingDomains }: CommandServices): string {
  const isMissing = (kind: RecordKind): boolean => requiredKindsOf(domain).includes(kind) && domain.records[kind]?.status !== 'verified'
  const missing = sendingDomains.records(domain).filter(({ kind }) => isMissing(kind))
  const words = missing.map(({ kind, type, name }) => {
    const found = domain.records[kind]?.found
    return `${type} ${name} (found: ${found ? printable(found) : 'nothing'})`
  })
  return `Missing or wrong records: ${words.join('; ')}. Publish what "sterna domain show ${domain.name}" shows and try again.`
}
