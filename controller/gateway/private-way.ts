import { withoutBrackets } from '../../contract/policy/hosts.ts';
import { isLoopback } from '../loopback.ts';

/** Whether what is sent there can be read on the way by no other party: https, or this machine. */
export const isPrivateWay = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && isLoopback(withoutBrackets(hostname)));
