import { type ResourceRule, readPath, toList } from '../rule.ts';

const TEMPLATE = 'aws:ec2/launchTemplate:LaunchTemplate';
const NODE_GROUP = 'aws:eks/nodeGroup:NodeGroup';

const metadata: ResourceRule = {
  name: 'metadata-v2-one-hop',
  reason: 'A browser that can reach the metadata service can assume the role of its node.',
  link: 'https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html',
  scope: 'resource',
  types: [TEMPLATE],
  check({ props }) {
    const options = props.metadataOptions;
    return readPath(options, 'httpTokens') === 'required' && readPath(options, 'httpPutResponseHopLimit') === 1
      ? []
      : ['set metadataOptions.httpTokens to required and httpPutResponseHopLimit to 1'];
  },
};

const volumes: ResourceRule = {
  name: 'volumes-encrypted',
  reason: 'A recording is on the disk of its node until it is uploaded.',
  link: 'https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption.html',
  scope: 'resource',
  types: [TEMPLATE],
  check({ props }) {
    const devices = toList(props.blockDeviceMappings);
    const encrypted = devices.every(device => String(readPath(device, 'ebs', 'encrypted')) === 'true');
    return devices.length > 0 && encrypted ? [] : ['name every block device and set ebs.encrypted'];
  },
};

const noLogin: ResourceRule = {
  name: 'no-ssh-to-nodes',
  reason: 'Nodes are replaced, not repaired by hand; access by SSH key is not audited.',
  link: 'https://docs.aws.amazon.com/eks/latest/best-practices/protecting-the-infrastructure.html',
  scope: 'resource',
  types: [TEMPLATE, NODE_GROUP],
  check: ({ props }) =>
    props.keyName || props.remoteAccess ? ['remove keyName and remoteAccess; use SSM to inspect a node'] : [],
};

const ownTemplate: ResourceRule = {
  name: 'nodes-from-own-template',
  reason: 'Without a launch template EKS creates one that allows two hops to the metadata service.',
  link: 'https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html',
  scope: 'resource',
  types: [NODE_GROUP],
  // The template's id is known only once it is made: that it is set is enough, so it is not read.
  check: ({ props }) => ('launchTemplate' in props ? [] : ['give the node group a launch template']),
};

const noPublicAddress: ResourceRule = {
  name: 'no-public-addresses',
  reason: 'A node with a public address is one security group rule away from the internet.',
  link: 'https://docs.aws.amazon.com/eks/latest/best-practices/subnets.html',
  scope: 'resource',
  types: [TEMPLATE, 'aws:ec2/subnet:Subnet'],
  check: ({ props }) =>
    props.mapPublicIpOnLaunch === true ||
    toList(props.networkInterfaces).some(one => String(readPath(one, 'associatePublicIpAddress')) === 'true')
      ? ['leave mapPublicIpOnLaunch and associatePublicIpAddress off']
      : [],
};

export const NODES = [metadata, volumes, noLogin, ownTemplate, noPublicAddress];
