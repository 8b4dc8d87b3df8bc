import type { Breaks } from '../broken.ts';

const TEMPLATE = 'aws:ec2/launchTemplate:LaunchTemplate';
const NODES = 'aws:eks/nodeGroup:NodeGroup';

/** How each rule of policies/rules/nodes.ts is broken, in as many ways as a person would think of. */
export const NODES_BREAKS: Breaks = {
  'metadata-v2-one-hop': {
    'pods reach the metadata service': edit =>
      edit.change(TEMPLATE, 'browser', props => {
        props.metadataOptions = { httpTokens: 'required', httpPutResponseHopLimit: 2 };
      }),
    'version 1 answers': edit =>
      edit.change(TEMPLATE, 'system', props => {
        props.metadataOptions = { httpTokens: 'optional', httpPutResponseHopLimit: 1 };
      }),
  },
  'volumes-encrypted': {
    'the disk is plain': edit =>
      edit.change(TEMPLATE, 'browser', props => {
        props.blockDeviceMappings = [{ deviceName: '/dev/xvda', ebs: { volumeType: 'gp3', encrypted: 'false' } }];
      }),
    'the disk is the one of the image': edit =>
      edit.change(TEMPLATE, 'browser', props => {
        delete props.blockDeviceMappings;
      }),
  },
  'no-ssh-to-nodes': {
    'a key pair is in the template': edit =>
      edit.change(TEMPLATE, 'system', props => {
        props.keyName = 'mine';
      }),
    'EKS opens port 22': edit =>
      edit.change(NODES, 'system', props => {
        props.remoteAccess = { ec2SshKey: 'mine' };
      }),
  },
  'nodes-from-own-template': {
    'EKS makes the template': edit =>
      edit.change(NODES, 'browser', props => {
        delete props.launchTemplate;
      }),
  },
  'no-public-addresses': {
    'a subnet hands them out': edit =>
      edit.change('aws:ec2/subnet:Subnet', 'public-0', props => {
        props.mapPublicIpOnLaunch = true;
      }),
    'a template asks for one': edit =>
      edit.change(TEMPLATE, 'system', props => {
        props.networkInterfaces = [{ associatePublicIpAddress: 'true' }];
      }),
  },
};
