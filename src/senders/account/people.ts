import type { BaseServices } from '../../platform/base-services.ts'
import type { Accounts } from './accounts.ts'
import type { Secrets } from './key-file.ts'
import { KnownDevices } from './known-devices.ts'
import { Login } from './login.ts'
import type { PasswordHasher } from './password-hash.ts'
import { Passkeys } from './passkeys.ts'
import { PasswordResets } from './password-resets.ts'
import { SecondFactors } from './second-factor.ts'
import { Sessions } from './sessions.ts'
import { SetupLink } from './setup-link.ts'
import { Users } from './users.ts'

/** Everything about people who log in. */
export interface People {
  users: Users
  sessions: Sessions
  login: Login
  passwords: PasswordHasher
  secondFactors: SecondFactors
  setupLink: SetupLink
  resets: PasswordResets
  passkeys: Passkeys
  devices: KnownDevices
}

interface PeopleServices extends Pick<BaseServices, 'db' | 'clock' | 'changes'> {
  secrets: Secrets
  accounts: Accounts
  passwords: PasswordHasher
}

/** Loads the users and their sessions; `issuer` is the server's name in authenticator apps. */
export async function openPeople(
  services: PeopleServices,
  settings: { issuer: string; sandboxOnly: boolean; baseUrl: string },
): Promise<People> {
  const { passwords } = services
  const users = new Users(services)
  const sessions = new Sessions({ ...services, users, sandboxOnly: settings.sandboxOnly })
  const secondFactors = new SecondFactors({ ...services, users }, settings.issuer)
  const devices = new KnownDevices(services)
  const login = new Login({ ...services, users, secondFactors, devices })
  const setupLink = new SetupLink({ ...services, users })
  const resets = new PasswordResets({ ...services, users })
  const passkeys = new Passkeys({ ...services, users }, settings.baseUrl)
  for (const part of [users, sessions]) await part.load()
  return { users, sessions, login, passwords, secondFactors, setupLink, resets, passkeys, devices }
}
