import { SternaError } from '../errors.ts'
import { isSystemDomain, requiredKindsOf, type Domain, type RecordKind } from '../sending-domain/domain.ts'
import type { DomainObject } from '../sending-domain/domain-object.ts'
import { isFullName } from '../smtp/domain-name.ts'
import type { CommandParts } from './command-parts.ts'
import {
  accountOption as account,
  argument,
  flagOption,
  printable,
  requiredOption,
  shownTime,
  table,
  textOption,
  type Command,
  type CommandInput,
} from './command.ts'

const json = { type: 'boolean', doc: 'Prints JSON, as the API does.' } as const

export const domainCommands: Command[] = [
  {
    name: 'domain add',
    args: ['NAME'],
    options: {
      account,
      'return-path': { type: 'string', value: 'LABEL', doc: 'Of the return path below the domain; send where none is given.' },
      selector: { type: 'string', value: 'SELECTOR', doc: 'Of the RSA key; one is made up where none is given.' },
      'enforce-tls': { type: 'boolean', doc: 'Its mail never leaves without TLS to a host whose certificate is valid.' },
      json,
    },
    doc: 'Adds a domain to send from, with new DKIM keys, and prints the DNS records to publish.',
    async run(input, { accounts, config, sendingDomains }) {
      const { id } = accounts.getAccount(requiredOption(input, 'account'))
      const domain = await sendingDomains.add(id, argument(input, 0), {
        returnPathLabel: textOption(input, 'return-path'),
        dkimSelector: textOption(input, 'selector'),
        tls: flagOption(input, 'enforce-tls') ? 'enforced' : 'opportunistic',
      })
      const object = sendingDomains.toObject(domain)
      return {
        stdout: flagOption(input, 'json') ? jsonText(object) : recordTable(object),
        stderr: isFullName(config.hostname) ? '' : nameless(config.hostname, domain.name),
      }
    },
  },
  {
    name: 'domain list',
    reads: true,
    args: [],
    options: { account: { ...account, required: false }, json },
    doc: 'Lists the domains of an account, or of all.',
    async run(input, { accounts, sendingDomains }) {
      const name = textOption(input, 'account')
      const domains = sendingDomains.list(name === undefined ? undefined : accounts.getAccount(name).id)
      if (flagOption(input, 'json')) return { stdout: jsonText(domains.map((domain) => sendingDomains.toObject(domain))) }
      const rows = domains.map((domain) => [
        domain.id,
        domain.name,
        domain.status,
        shownTime(domain.checkedAt),
        isSystemDomain(domain) ? '(this server)' : (accounts.accountFor(domain.accountId)?.name ?? domain.accountId),
      ])
      return { stdout: table([['ID', 'NAME', 'STATUS', 'CHECKED', 'ACCOUNT'], ...rows]) }
    },
  },
  {
    name: 'domain show',
    reads: true,
    args: ['NAME'],
    options: { account: { ...account, required: false }, json },
    doc: 'Shows the DNS records of a domain to publish, and which were found at the last look.',
    async run(input, parts) {
      const object = parts.sendingDomains.toObject(findDomain(input, parts))
      return { stdout: flagOption(input, 'json') ? jsonText(object) : recordTable(object) }
    },
  },
  {
    name: 'domain verify',
    args: ['NAME'],
    options: {
      account: { ...account, required: false },
      manual: { type: 'boolean', doc: 'Takes the domain as verified without looking: for a lab without DNS.' },
      json,
    },
    doc: 'Looks for the DNS records of a domain and waits for the answer; fails unless they are there.',
    async run(input, parts) {
      const domain = await verify(findDomain(input, parts), flagOption(input, 'manual'), parts)
      if (domain.status !== 'verified') {
        throw new SternaError('domain_not_verified', `${domain.name} is ${domain.status}. ${missingFrom(domain, parts)}`)
      }
      const { sendingDomains } = parts
      return { stdout: flagOption(input, 'json') ? jsonText(sendingDomains.toObject(domain)) : `${domain.name} is verified\n` }
    },
  },
  {
    name: 'domain rotate',
    args: ['NAME'],
    options: {
      account: { ...account, required: false },
      selector: { type: 'string', value: 'SELECTOR', doc: 'Of the new RSA key; one is made up where none is given.' },
      force: { type: 'boolean', doc: 'Takes the place of new keys that wait already.' },
      json,
    },
    doc: 'Makes new DKIM keys and prints the records to publish; they sign once their records are seen.',
    async run(input, parts) {
      const { sendingDomains } = parts
      const wanted = { dkimSelector: textOption(input, 'selector'), force: flagOption(input, 'force') }
      const object = sendingDomains.toObject(await sendingDomains.rotateKeys(findDomain(input, parts).id, wanted))
      return { stdout: flagOption(input, 'json') ? jsonText(object) : recordTable(object) }
    },
  },
  {
    name: 'domain remove',
    args: ['NAME'],
    options: { account: { ...account, required: false } },
    doc: 'Takes a domain out of use. Mail that was accepted from it is still delivered.',
    async run(input, parts) {
      const domain = findDomain(input, parts)
      if (isSystemDomain(domain)) {
        throw new SternaError('invalid_state', `${domain.name} is the name of this server. Its domain changes with the setting hostname.`)
      }
      await parts.sendingDomains.remove(domain.id)
      return { stdout: `${domain.name} is removed\n` }
    },
  },
]

const nameless = (hostname: string, domain: string): string =>
  `Do not publish these yet: they name this server "${hostname}". Set hostname (STERNA_HOSTNAME) to its name in the DNS, start ` +
  `it anew, and take the records from: sterna domain show ${domain}\n`

const jsonText = (value: object): string => `${JSON.stringify(value, null, 2)}\n`

function recordTable({ records }: DomainObject): string {
  const rows = records.map(({ type, name, priority, value, status }) => [type, name, String(priority ?? '-'), status, value])
  return table([['TYPE', 'NAME', 'PRIORITY', 'STATUS', 'VALUE'], ...rows])
}

/**
 * A name may belong to several accounts, so one that does needs `--account`. That of this server means its own domain only
 * where no account has it; its id always does.
 */
function findDomain(input: CommandInput, { accounts, sendingDomains }: CommandParts): Domain {
  const name = argument(input, 0)
  const accountName = textOption(input, 'account')
  if (accountName !== undefined) return sendingDomains.get(accounts.getAccount(accountName).id, name)
  const found = sendingDomains.find(name)
  const owned = found.filter((each) => !isSystemDomain(each))
  const [domain, another] = owned.length > 0 ? owned : found
  if (!domain) {
    throw new SternaError('not_found', `There is no domain "${name}". Add it with: sterna domain add NAME --account ACCOUNT`)
  }
  if (another) throw new SternaError('invalid_parameter', `Several accounts have the domain ${name}: say which with --account.`)
  return domain
}

async function verify(domain: Domain, manual: boolean, { sendingDomains, log }: CommandParts): Promise<Domain> {
  if (!manual) return sendingDomains.verify(domain.id)
  log.warn({ domainId: domain.id, accountId: domain.accountId, domain: domain.name }, 'domain taken as verified by hand')
  return sendingDomains.verifyManually(domain.id)
}

/** The required records that are not there, each with what was found in its place. */
function missingFrom(domain: Domain, { sendingDomains }: CommandParts): string {
  const isMissing = (kind: RecordKind): boolean => requiredKindsOf(domain).includes(kind) && domain.records[kind]?.status !== 'verified'
  const missing = sendingDomains.records(domain).filter(({ kind }) => isMissing(kind))
  const words = missing.map(({ kind, type, name }) => {
    const found = domain.records[kind]?.found
    return `${type} ${name} (found: ${found ? printable(found) : 'nothing'})`
  })
  return `Not as it must be: ${words.join('; ')}. Publish what "sterna domain show ${domain.name}" shows and try again.`
}
