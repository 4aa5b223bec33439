import type { AuthoriseParts } from '../../submission/authorise.ts'
import type { CompatDoor, DoorParts } from './compat-door.ts'
import { mailgunDoor } from './mailgun.ts'
import type { MimeParts } from './mailgun-mime.ts'
import { postmarkDoor } from './postmark.ts'
import { sendGridDoor } from './sendgrid.ts'

/** What all of them take of the server. */
export interface CompatDoorParts extends DoorParts, MimeParts, Pick<AuthoriseParts, 'verifiedDomainFor'> {}

/**
 * The doors for apps that were written for another service: they change a host name and a key. An email that comes by
 * one of them has the source `compat`.
 */
export const compatDoors = (parts: CompatDoorParts): CompatDoor[] => [sendGridDoor(parts), postmarkDoor(parts), mailgunDoor(parts)]
